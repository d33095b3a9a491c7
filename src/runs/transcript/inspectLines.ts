import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { loggedMessage } from '../../core/transcript/agentLogs.ts';
import { checkTranscript } from '../../core/transcript/checkTranscript.ts';
import type { Finding } from '../../core/transcript/finding.ts';
import { linkCalls } from '../../core/transcript/linkCalls.ts';
import { isBlankLine, lineTooLong, messageLineLimits, readMessageLine } from '../../core/transcript/messageLine.ts';
import { transcriptLimits } from '../../core/transcript/readTranscript.ts';
import { findReferences } from '../../core/transcript/references.ts';
import { contextPoints, tokenTotals } from '../../core/transcript/tokenTotals.ts';
import type { Transcript, TranscriptFault, TranscriptMessage } from '../../core/transcript/transcript.ts';
import type { LongInspection } from '../../protocol/transcriptMessages.ts';
import type { ConversationContext } from './spooledLines.ts';

/** Maximum size, in bytes, of a file whose messages are checked; checks keep all text in memory. */
export const checkedBytes = 128 << 20;

/** Limits on what the page displays. */
const shown = { points: 400, findings: 2000, positions: 11, answers: 200, evidence: 4000 } as const;
const chunkBytes = 1 << 20;
const newline = 0x0a;

/** File to inspect, up to `size`. */
export interface InspectedFile {
	readonly path: string;
	readonly dev: bigint;
	readonly ino: bigint;
	readonly size: number;
	/** Present if the file contains the messages of a conversation stored in another format. */
	readonly context?: ConversationContext;
}

/** Messages in a file, and their positions. */
interface LineContent {
	readonly messages: TranscriptMessage[];
	/** Index of each message's nonblank line. */
	readonly lineOf: number[];
	/** Number of nonblank lines, excluding an incomplete last line. */
	readonly lines: number;
	readonly faults: TranscriptFault[];
	readonly moreFaults: number;
}

/** Conversation in a file with one message per line. */
export interface LineConversation extends Omit<LineContent, 'messages'> {
	readonly transcript: Transcript;
	/** Whether the messages' text was read, which checks require. */
	readonly checked: boolean;
}

/** Reads a chat log with one message per line. Fails if the file was replaced in the meantime. */
export async function readConversation(file: InspectedFile): Promise<LineConversation> {
	const checked = file.size <= checkedBytes;
	const { messages, ...rest } = await readLines(file, checked);
	const transcript = { title: '', messages, tools: file.context?.tools ?? [], ...linkCalls(messages) };
	return { transcript, checked, ...rest };
}

/**
 * Inspects a chat log with one message per line: links, tokens, findings and references. Takes seconds, so it
 * runs in a separate thread. Fails if the file was replaced in the meantime.
 */
export async function inspectLines(file: InspectedFile): Promise<LongInspection> {
	const { transcript, checked, lineOf, lines, faults, moreFaults } = await readConversation(file);
	const { messages } = transcript;
	const findings = checked ? checkTranscript(transcript) : [];
	const points = contextPoints(transcript);
	const severities = (severity: Finding['severity']) => findings.filter((one) => one.severity === severity).length;
	return {
		lines,
		messages: messages.length,
		lineOf: lineOf.every((line, i) => line === i) && lines === messages.length ? null : Int32Array.from(lineOf),
		calls: transcript.links.length,
		links: Int32Array.from(
			transcript.links.flatMap(({ message, call, results }) => results.flatMap((result) => [message, call, result])),
		),
		totals: tokenTotals(transcript),
		points: points.slice(0, shown.points),
		pointCount: points.length,
		checked,
		findings: findings.slice(0, shown.findings).map(({ severity, title, text, at, quotes }) => ({
			...{ severity, title, text, quotes: [...quotes] },
			at: at.slice(0, shown.positions),
		})),
		counts: { error: severities('error'), warning: severities('warning'), info: severities('info') },
		references: checked ? shownReferences(transcript) : [],
		faults,
		moreFaults,
	};
}

/** Returns the references in the newest answers. */
function shownReferences(transcript: Transcript): LongInspection['references'] {
	return structuredClone(findReferences(transcript).slice(-shown.answers)).map((answer) => ({
		...answer,
		references: answer.references.map((reference) => ({
			...reference,
			evidence: reference.evidence.slice(0, shown.evidence),
		})),
	})) as LongInspection['references'];
}

/** @param whole whether to keep the text of messages */
async function readLines(file: InspectedFile, whole: boolean): Promise<LineContent> {
	const messages: TranscriptMessage[] = [];
	const lineOf: number[] = [];
	const { context } = file;
	const faults: TranscriptFault[] = [...(context?.faults ?? [])];
	const converted = context && ((value: unknown) => loggedMessage(value, context));
	let [moreFaults, lines, number] = [0, 0, 0];
	const take = (bytes: Buffer | null, ended: boolean): void => {
		number++;
		if (bytes !== null && isBlankLine(bytes)) return;
		const read =
			bytes === null
				? { messages: [], fault: lineTooLong }
				: readMessageLine(bytes.toString('utf8'), number, ended, converted);
		if (read.fault !== null) {
			if (faults.length < transcriptLimits.faults) {
				const place = { line: number, column: 1 };
				// The user cannot open lines in a temporary file.
				faults.push(
					context ? { place: null, message: `Message ${number}: ${read.fault}` } : { place, message: read.fault },
				);
			} else moreFaults++;
			// The line might become a message once the rest of it is written.
			if (!ended) return;
		}
		for (const message of read.messages) {
			messages.push({ ...(whole ? message : withoutText(message)), index: messages.length });
			lineOf.push(lines);
		}
		lines++;
	};
	const splitter = new Lines();
	for await (const chunk of chunksOf(file)) {
		for (const bytes of splitter.push(chunk)) take(bytes, true);
	}
	take(splitter.rest(), false);
	return { messages, lineOf, lines, faults, moreFaults };
}

function withoutText(message: Omit<TranscriptMessage, 'index'>): Omit<TranscriptMessage, 'index'> {
	const calls = message.calls.map((call) => ({ ...call, arguments: undefined, text: '' }));
	return { ...message, text: '', thinking: '', calls };
}

/** Splits chunks into lines; null for a line that is too long. */
class Lines {
	#parts: Buffer[] = [];
	#length = 0;

	*push(chunk: Buffer): Generator<Buffer | null> {
		let start = 0;
		for (let feed = chunk.indexOf(newline); feed !== -1; feed = chunk.indexOf(newline, start)) {
			this.#keep(chunk.subarray(start, feed));
			yield this.rest();
			start = feed + 1;
		}
		this.#keep(chunk.subarray(start));
	}

	/** Returns the bytes after the last newline. */
	rest(): Buffer | null {
		const [first] = this.#parts;
		const whole = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
		const bytes = this.#length > messageLineLimits.bytes ? null : whole;
		this.#parts = [];
		this.#length = 0;
		return bytes;
	}

	#keep(part: Buffer): void {
		this.#length += part.length;
		if (this.#length > messageLineLimits.bytes) this.#parts = [];
		else this.#parts.push(part);
	}
}

async function* chunksOf({ path, dev, ino, size }: InspectedFile): AsyncGenerator<Buffer> {
	// Avoids blocking if a pipe has replaced the file.
	const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
	try {
		const stat = await handle.stat({ bigint: true });
		if (!stat.isFile() || stat.dev !== dev || stat.ino !== ino) throw new Error('the file was replaced');
		for (let position = 0; position < size; ) {
			const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
			const { bytesRead } = await handle.read(chunk, 0, chunk.length, position);
			if (bytesRead === 0) return;
			yield chunk.subarray(0, bytesRead);
			position += bytesRead;
		}
	} finally {
		await handle.close();
	}
}
