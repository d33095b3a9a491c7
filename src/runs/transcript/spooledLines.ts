import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../../base/async.ts';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { errorText, type LoggedAnswer, type LoggedContext, loggedAnswers } from '../../core/transcript/agentLogs.ts';
import { messageLineLimits } from '../../core/transcript/messageLine.ts';
import { field, textField } from '../../core/transcript/pythonValue.ts';
import { readTools } from '../../core/transcript/readTranscript.ts';
import type { DeclaredTool, TranscriptFault } from '../../core/transcript/transcript.ts';
import { type CutValue, JsonCutter } from '../../files/jsonCutter.ts';
import { JsonParts } from '../../files/jsonParts.ts';
import { Turns } from '../../files/turns.ts';
import type { LoggedSample } from './loggedSamples.ts';

/** Limits per sample: its decoded size, the text of its attachments, and the number of its answers. */
export const sampleLimits = { bytes: 2 ** 31, attached: 32 << 20, answers: 1_000_000, usage: 4096 } as const;
const flushBytes = 1 << 20;
/** Size, in bytes, of the first messages, which are shown while the rest are read. */
const firstBytes = 2 << 20;

/** Context for reading the messages of a conversation; passed to the thread that checks them. */
export interface ConversationContext extends LoggedContext {
	readonly tools: readonly DeclaredTool[];
	/** Errors in the conversation itself, such as a failed sample. */
	readonly faults: readonly TranscriptFault[];
}

/** Messages of a conversation, stored in a temporary file with one message per line. */
export interface SpooledLines {
	readonly path: string;
	readonly handle: FileHandle;
	readonly size: number;
	/** Complete when everything has been read. */
	readonly context: ConversationContext;
	/**
	 * Reads the rest. Never fails.
	 * @param grow called with the new size of the file when more messages have been written; must not fail
	 */
	rest(grow: (size: number) => Promise<void>): Promise<void>;
	/** Stops reading, and closes and removes the file. */
	close(): Promise<void>;
}

const messageBytes = messageLineLimits.bytes;
const fields = {
	input: { into: 'value', bytes: messageBytes },
	messages: { into: 'entries', bytes: messageBytes },
	output: { into: 'value', bytes: messageBytes },
	events: { into: 'entries', bytes: messageBytes },
	attachments: { into: 'entries', bytes: messageBytes },
	error: { into: 'value', bytes: 1 << 20 },
} as const;

const outputShape = { usage: true, choices: [{ stop_reason: true, message: { id: true } }] } as const;
const attachment = /attachment:\/\/(\w{1,128})/g;

/** Writes text to a private temporary file. */
class Spool {
	readonly folder: string;
	readonly handle: FileHandle;
	#parts: Buffer[] = [];
	#waiting = 0;
	size = 0;

	private constructor(folder: string, handle: FileHandle) {
		this.folder = folder;
		this.handle = handle;
	}

	static async create(): Promise<Spool> {
		const folder = await mkdtemp(join(tmpdir(), 'reasoning-lab-transcript-'));
		try {
			return new Spool(folder, await open(join(folder, 'messages.jsonl'), 'wx+', 0o600));
		} catch (error) {
			await rm(folder, { recursive: true, force: true });
			throw error;
		}
	}

	/** Adds JSON text as a line. Outside strings, newlines in JSON are just whitespace. */
	line(json: Buffer): void {
		const line = Buffer.allocUnsafe(json.length + 1);
		for (let i = 0; i < json.length; i++) line[i] = json[i] === 0x0a ? 0x20 : (json[i] as number);
		line[json.length] = 0x0a;
		this.#parts.push(line);
		this.#waiting += line.length;
	}

	async flush(everything = false): Promise<void> {
		if (this.#waiting === 0 || (this.#waiting < flushBytes && !everything)) return;
		const bytes = Buffer.concat(this.#parts);
		this.#parts = [];
		this.#waiting = 0;
		for (let at = 0; at < bytes.length; ) {
			const { bytesWritten } = await this.handle.write(bytes, at, bytes.length - at, this.size);
			at += bytesWritten;
			this.size += bytesWritten;
		}
	}

	/** Returns the lines so far. */
	async lines(): Promise<Pick<SpooledLines, 'path' | 'handle' | 'size'>> {
		await this.flush(true);
		return { path: join(this.folder, 'messages.jsonl'), handle: this.handle, size: this.size };
	}

	async close(): Promise<void> {
		await this.handle.close().catch(() => undefined);
		await rm(this.folder, { recursive: true, force: true });
	}
}

/** Collects the parts of a sample. */
class SampleReader {
	readonly answers = new Map<string, LoggedAnswer>();
	readonly attachments = new Map<string, string>();
	readonly #spool: Spool;
	readonly #output = new JsonParts(outputShape);
	readonly #event = new JsonParts({ event: true, output: outputShape });
	readonly #firstEvent = new JsonParts({ event: true, output: outputShape, tools: true });
	/** Keys of the attachments in messages. */
	readonly #wanted = new Set<string>();
	#attached = 0;
	#input: Buffer | null = null;
	messages = 0;
	/** Whether a field after the messages has been read. */
	complete = false;
	tools: DeclaredTool[] | null = null;
	error: string | null = null;

	constructor(spool: Spool) {
		this.#spool = spool;
	}

	take(value: CutValue): void {
		if (value.field !== 'messages' && this.messages > 0) this.complete = true;
		switch (value.field) {
			case 'messages':
				this.#takeMessage(value);
				break;
			case 'events':
				if (value.whole && value.bytes.includes('"model"')) this.#takeEvent(value.bytes);
				break;
			case 'attachments':
				this.#takeAttachment(value);
				break;
			case 'output':
				this.#note(partsOf(this.#output, value.bytes));
				break;
			case 'input':
				this.#input = value.whole ? Buffer.from(value.bytes) : null;
				break;
			case 'error':
				this.error = errorText(parsed(value.bytes.toString('utf8')));
				break;
		}
	}

	/** A sample that failed early has only its input. */
	useInput(): void {
		if (this.messages > 0 || this.#input === null) return;
		const input = parsed(this.#input.toString('utf8'));
		const messages = typeof input === 'string' ? [{ role: 'user', content: input }] : input;
		for (const message of Array.isArray(messages) ? messages : []) {
			this.#spool.line(Buffer.from(JSON.stringify(message)));
			this.messages++;
		}
	}

	#takeMessage({ bytes, whole }: CutValue): void {
		if (this.complete) return;
		this.messages++;
		if (!whole) {
			this.#spool.line(Buffer.from(`"The message is longer than ${messageBytes / 2 ** 20} MB"`));
			return;
		}
		if (bytes.includes('attachment://')) {
			for (const [, key] of bytes.toString('latin1').matchAll(attachment)) this.#wanted.add(key as string);
		}
		this.#spool.line(bytes);
	}

	#takeEvent(bytes: Buffer): void {
		const event = partsOf(this.tools === null ? this.#firstEvent : this.#event, bytes);
		if (textField(event, 'event') !== 'model') return;
		this.#note(field(event, 'output'));
		if (this.tools === null && field(event, 'tools') !== undefined) this.tools = readTools(field(event, 'tools'));
	}

	#note(output: unknown): void {
		if (this.answers.size >= sampleLimits.answers) return;
		for (const [id, answer] of loggedAnswers(output)) {
			if (JSON.stringify(answer).length <= sampleLimits.usage) this.answers.set(id, answer);
		}
	}

	#takeAttachment({ key, bytes, whole }: CutValue): void {
		if (key === null || !whole || (this.messages > 0 && !this.#wanted.has(key))) return;
		if (bytes.length > sampleLimits.attached - this.#attached) return;
		const text = parsed(bytes.toString('utf8'));
		if (typeof text !== 'string') return;
		this.attachments.set(key, text);
		this.#attached += bytes.length;
	}
}

function partsOf(parts: JsonParts, bytes: Buffer): unknown {
	return parsed(parts.of([bytes]) ?? bytes.toString('utf8'));
}

function parsed(text: string): unknown {
	try {
		return parseBoundedJson(text);
	} catch {
		return undefined;
	}
}

/** Reads a sample's text in chunks. */
class SampleReading {
	readonly #cutter: JsonCutter;
	readonly #pieces: AsyncIterator<Buffer>;
	readonly #spool: Spool;
	readonly #turns = new Turns();
	/** What is wrong with the text, as a sentence fragment. */
	damage: string | null = null;
	ended = false;

	constructor(sample: LoggedSample, reader: SampleReader, spool: Spool) {
		this.#cutter = new JsonCutter(fields, (value) => reader.take(value));
		this.#pieces = sample.pieces()[Symbol.asyncIterator]();
		this.#spool = spool;
	}

	/** Reads until `enough` returns true, or the text ends. Fails only on system errors, never because of the text. */
	async read(enough: () => boolean): Promise<void> {
		try {
			while (!this.ended && !enough()) {
				const { done, value } = await this.#pieces.next();
				if (done === true) this.ended = true;
				else this.#cutter.push(value);
				await this.#spool.flush();
				if (this.#turns.due) await this.#turns.pass();
			}
			if (this.ended && !this.#cutter.ended) this.damage ??= 'is not valid JSON: it ends too early';
		} catch (error) {
			this.ended = true;
			if (error instanceof Failure || (error as NodeJS.ErrnoException).code !== undefined) throw error;
			const { message } = error as Error;
			this.damage = error instanceof SyntaxError ? `is not valid JSON: ${message}` : message;
		} finally {
			if (this.ended) await this.#pieces.return?.();
		}
	}

	async stop(): Promise<void> {
		this.ended = true;
		await this.#pieces.return?.();
	}
}

/**
 * Writes the messages of a sample to a temporary file, so that only those shown are read. Memory does not grow with the
 * sample, apart from the tokens of its answers. Returns once the first messages have been read; the other messages, and
 * the events and attachments that follow them, are read by `rest`. If the sample is damaged or too large, this is
 * reported in its faults, and everything before the damage is read. Fails with `unsupported` if this version of Node.js
 * lacks the compression method. Fails with `cancelled` if the signal fires before then.
 * @param options `problems`: what is wrong with the file that contains the sample
 */
export async function spoolSample(
	sample: LoggedSample,
	{ problems = [], signal }: { readonly problems?: readonly string[]; readonly signal?: AbortSignalLike } = {},
): Promise<SpooledLines> {
	const spool = await Spool.create();
	try {
		const reader = new SampleReader(spool);
		const reading = new SampleReading(sample, reader, spool);
		const large = sample.size > sampleLimits.bytes ? `has more than ${sampleLimits.bytes / 2 ** 30} GB` : null;
		if (large !== null) await reading.stop();
		await reading.read(() => signal?.aborted === true || reader.complete || spool.size >= firstBytes);
		if (signal?.aborted) {
			await reading.stop();
			checkAborted(signal);
		}
		if (reading.ended) reader.useInput();
		if (reader.messages === 0) spool.line(Buffer.from('"The sample has no messages"'));
		const lines = await spool.lines();
		const { answers, attachments } = reader;
		const tools: DeclaredTool[] = [];
		const faults: TranscriptFault[] = problems.map((message) => ({ place: null, message }));
		let closed = false;
		const finish = async (grow: (size: number) => Promise<void>) => {
			let why = large;
			try {
				for (let { size } = lines; !reader.complete && !reading.ended && !closed; ) {
					// Double the number of messages each time, because the page redraws all of them.
					await reading.read(() => closed || reader.complete || spool.size >= 2 * size);
					({ size } = await spool.lines());
					if (!closed) await grow(size);
				}
				await reading.read(() => closed);
				why ??= reading.damage;
			} catch (error) {
				why = `cannot be read: ${(error as Error).message}`;
			}
			await reading.stop();
			if (reader.error !== null) faults.push({ place: null, message: `${sample.title} failed: ${reader.error}` });
			if (why !== null) faults.push({ place: null, message: `${sample.title} ${why}` });
			tools.push(...(reader.tools ?? []));
		};
		let reads: Promise<void> | null = null;
		const rest = (grow: (size: number) => Promise<void>) => {
			reads ??= finish(grow);
			return reads;
		};
		const close = async () => {
			closed = true;
			await (reads ?? reading.stop());
			await spool.close();
		};
		return { ...lines, context: { answers, attachments, tools, faults }, rest, close };
	} catch (error) {
		await spool.close();
		throw error;
	}
}

/** Writes messages to a temporary file with one message per line. */
export async function spoolMessages(
	messages: readonly unknown[],
	tools: readonly DeclaredTool[],
): Promise<SpooledLines> {
	const spool = await Spool.create();
	try {
		const turns = new Turns();
		for (const message of messages) {
			spool.line(Buffer.from(JSON.stringify(message)));
			await spool.flush();
			if (turns.due) await turns.pass();
		}
		const context = { answers: new Map(), attachments: new Map(), tools, faults: [] };
		const whole = { rest: () => Promise.resolve(), close: () => spool.close() };
		return { ...(await spool.lines()), context, ...whole };
	} catch (error) {
		await spool.close();
		throw error;
	}
}
