import { createParser } from 'eventsource-parser';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { Redactor } from '../../base/redactor.ts';
import { type HttpAdvice, lostConnection, refusal, saidOf, tooSlow } from '../../rpc/http/httpFailures.ts';
import { RequestQueue, type Tried } from '../../rpc/http/requestQueue.ts';
import { decodeReply, isErrorReply, type Reply } from './replyParts.ts';

export interface OpenAiServerOptions {
	/** With the path up to /v1, without a slash at its end. */
	readonly baseUrl: string;
	/** Sent to this server alone. */
	readonly key: string | null;
	readonly parallel: number;
	readonly requestsPerMinute?: number;
	/** Without any progress of an answer. */
	readonly timeoutSeconds: number;
	readonly retries: number;
	/** Wait before the first further try. Default 500. */
	readonly firstWaitMs?: number;
}

/** Hears the parts of an answer. */
export interface ReplyListener {
	/** A try begins: what came before is void. */
	begin(): void;
	/** @returns whether it brought anything: a server that sends nothing but empty parts has stalled */
	part(reply: Reply): boolean;
	/** Nothing more is wanted. */
	readonly done: boolean;
}

/** How an answer ended. */
export interface ReplyEnd {
	/** Why it was interrupted after something had come; null: it finished. */
	readonly broken: Failure | null;
	/** Parts that could not be read. */
	readonly rubbish: number;
	/** The server said that nothing more comes. */
	readonly said: boolean;
}

/** Bytes of one answer at most, and of an error. */
const largestReply = 64 << 20;
const largestError = 64 << 10;
/** Of one event of a stream. */
const largestEvent = 4 << 20;
/** An answer takes so many times the timeout at most, however it trickles. */
const longestFactor = 30;

const advice: HttpAdvice = {
	unreachable: 'Start the server, or fix its URL.',
	slow: 'Raise "timeoutSeconds" of the policy, or lower "parallel".',
	busy: 'Lower "parallel" or "requestsPerMinute" of the policy, or raise "retries".',
	wrongKey: 'Fix the API key of the policy.',
	noKey: 'Set the API key of the policy; on the command line: --key-variable NAME.',
	address: 'Fix the URL of the policy: include the path up to /v1.',
	refused: 'Fix the model, the URL or the other options of the policy.',
};

/** A refusal with what the server wrote, for those who can do something about it. */
export class Refused extends Failure {
	readonly status: number;
	/** The beginning of the answer's text. */
	readonly body: string;

	constructor(failure: Failure, status: number, body: string) {
		super(failure.reason, failure.message, failure.action);
		this.status = status;
		this.body = body;
	}
}

/** What requests of search are put to. */
export type AskableServer = Pick<OpenAiServer, 'ask' | 'origin' | 'redactor'>;

/** One OpenAI-compatible server. Whatever it sends, every call settles within bounds of time and size. */
export class OpenAiServer {
	readonly #options: OpenAiServerOptions;
	readonly #queue: RequestQueue;
	readonly origin: string;
	/** Takes the key out of whatever the server writes. */
	readonly redactor: Redactor;
	/** It has answered before: that nobody listens there may pass. */
	#answered = false;

	constructor(options: OpenAiServerOptions) {
		this.#options = options;
		this.origin = new URL(options.baseUrl).origin;
		this.redactor = new Redactor([options.key]);
		this.#queue = new RequestQueue({
			concurrency: options.parallel,
			retries: options.retries,
			...(options.firstWaitMs === undefined ? {} : { firstWaitMs: options.firstWaitMs }),
			...(options.requestsPerMinute === undefined ? {} : { requestsPerMinute: options.requestsPerMinute }),
		});
	}

	get retries(): number {
		return this.#queue.retries;
	}

	/**
	 * Posts a request and hears its answer, whole or as a stream, as the server sends it.
	 * Fails with {@link Refused}, `denied`, `unavailable`, `invalid` (no such answer) or `cancelled`, as long as nothing had come.
	 */
	ask(path: string, body: object, listener: ReplyListener, signal: AbortSignal): Promise<ReplyEnd> {
		return this.#ask(path, body, listener, signal, false);
	}

	/** The same server for questions about it: what fails is an answer, and is not asked again (except after 429). */
	get once(): AskableServer {
		return {
			origin: this.origin,
			redactor: this.redactor,
			ask: (path, body, listener, signal) => this.#ask(path, body, listener, signal, true),
		};
	}

	#ask(path: string, body: object, listener: ReplyListener, signal: AbortSignal, once: boolean): Promise<ReplyEnd> {
		return this.#queue.run(() => this.#try(path, body, listener, signal), signal, once);
	}

	/** Ids of the models that it lists. Fails as `ask`. */
	async models(signal: AbortSignal): Promise<string[]> {
		const value = await this.#queue.run<unknown>(
			() =>
				this.#send('/models', null, signal, async (response, url) => {
					const text = await readText(response, largestReply, () => undefined);
					try {
						return { result: this.redactor.value(parseBoundedJson(text)) };
					} catch {
						return { failure: notJson(url), passing: false };
					}
				}),
			signal,
		);
		const data = (value as { data?: unknown } | null)?.data;
		if (!Array.isArray(data)) throw new Failure('invalid', `${this.origin} lists no models.`, advice.address);
		return data.flatMap((one) => (typeof one?.id === 'string' && one.id !== '' ? [one.id] : [])).slice(0, 5000);
	}

	#try(path: string, body: object, listener: ReplyListener, signal: AbortSignal): Promise<Tried<ReplyEnd>> {
		listener.begin();
		let came = false;
		const hear = (reply: Reply): boolean => {
			const brought = listener.part(reply);
			came ||= brought;
			return brought;
		};
		return this.#send(
			path,
			body,
			signal,
			async (response, url, alive) => {
				const streamed = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
				return streamed
					? readStream(response, url, hear, () => listener.done, alive, this.redactor)
					: readWhole(response, url, hear, alive, this.redactor);
			},
			() => came,
		);
	}

	/** Sends one request and lets `read` have its answer; a failure after something had come is an end of it. */
	async #send<T>(
		path: string,
		body: object | null,
		signal: AbortSignal,
		read: (response: Response, url: string, alive: () => void) => Promise<Tried<T>>,
		came: () => boolean = () => false,
	): Promise<Tried<T>> {
		const { baseUrl, key, timeoutSeconds } = this.#options;
		const url = `${baseUrl}${path}`;
		const stalled = new AbortController();
		let timer = setTimeout(() => stalled.abort(), timeoutSeconds * 1000);
		const last = setTimeout(() => stalled.abort(), timeoutSeconds * 1000 * longestFactor);
		const alive = () => {
			clearTimeout(timer);
			timer = setTimeout(() => stalled.abort(), timeoutSeconds * 1000);
		};
		try {
			const response = await fetch(url, {
				method: body === null ? 'GET' : 'POST',
				headers: {
					accept: 'application/json, text/event-stream',
					...(body === null ? {} : { 'content-type': 'application/json' }),
					...(key === null ? {} : { authorization: `Bearer ${key}` }),
				},
				...(body === null ? {} : { body: JSON.stringify(body) }),
				redirect: 'manual',
				signal: AbortSignal.any([signal, stalled.signal]),
			});
			if (response.status < 200 || response.status >= 300) {
				const text = this.redactor.body(await readText(response, largestError, () => undefined));
				const refused = refusal(response, text, { url, hasKey: key !== null }, advice);
				if (refused !== null) {
					return refused.passing
						? refused
						: { ...refused, failure: new Refused(refused.failure, response.status, text) };
				}
			}
			this.#answered = true;
			return await read(response, url, alive);
		} catch (error) {
			if (signal.aborted) throw new Failure('cancelled', `The request to ${this.origin} was canceled.`);
			const failed =
				error instanceof Failure
					? { failure: error, passing: false }
					: stalled.signal.aborted
						? tooSlow(this.origin, timeoutSeconds, advice)
						: lostConnection(this.origin, error, advice);
			if (came()) return { result: { broken: failed.failure, rubbish: 0, said: false } as T };
			return { ...failed, passing: failed.passing || (this.#answered && !(error instanceof Failure)) };
		} finally {
			clearTimeout(timer);
			clearTimeout(last);
		}
	}
}

async function readWhole(
	response: Response,
	url: string,
	hear: (reply: Reply) => boolean,
	alive: () => void,
	redactor: Redactor,
): Promise<Tried<ReplyEnd>> {
	const text = await readText(response, largestReply, alive);
	let value: unknown;
	try {
		value = redactor.value(parseBoundedJson(text));
	} catch {
		return { failure: notJson(url), passing: false };
	}
	if (isErrorReply(value)) return { failure: saidFailure(url, value), passing: false };
	const reply = decodeReply(value);
	if (!reply.ok || reply.value.choices.length === 0) return { failure: noAnswer(url, reply), passing: false };
	hear(reply.value);
	return { result: { broken: null, rubbish: 0, said: true } };
}

async function readStream(
	response: Response,
	url: string,
	hear: (reply: Reply) => boolean,
	done: () => boolean,
	alive: () => void,
	redactor: Redactor,
): Promise<Tried<ReplyEnd>> {
	let came = false;
	let ended = false;
	let rubbish = 0;
	let fault: Failure | null = null;
	let oversize: Failure | null = null;
	const parser = createParser({
		maxBufferSize: largestEvent,
		onEvent({ data }) {
			if (ended || fault !== null) return;
			if (data.trim() === '[DONE]') {
				ended = true;
				return;
			}
			let value: unknown;
			try {
				value = redactor.value(parseBoundedJson(data));
			} catch {
				rubbish++;
				return;
			}
			if (isErrorReply(value)) {
				fault = saidFailure(url, value);
				return;
			}
			const reply = decodeReply(value);
			if (!reply.ok) {
				rubbish++;
				return;
			}
			if (!hear(reply.value)) return;
			came = true;
			alive();
		},
		onError(error) {
			if (error.type === 'max-buffer-size-exceeded') fault = oversize = tooLarge(url, largestEvent);
		},
	});
	const decoder = new TextDecoder();
	let size = 0;
	// What is left is not waited for: the server may stop writing it.
	for await (const part of response.body ?? []) {
		size += part.length;
		if (size > largestReply) fault = oversize = tooLarge(url, largestReply);
		else parser.feed(decoder.decode(part, { stream: true }));
		if (ended || fault !== null || done()) break;
	}
	if (fault !== null) {
		return came ? { result: { broken: fault, rubbish, said: false } } : { failure: fault, passing: fault !== oversize };
	}
	if (came || ended) return { result: { broken: null, rubbish, said: ended } };
	const what = rubbish > 0 ? `sent ${rubbish} invalid parts` : 'ended the stream before it started';
	return {
		failure: new Failure('unavailable', `${new URL(url).origin} ${what}.`, 'Check the server log.'),
		passing: rubbish === 0,
	};
}

async function readText(response: Response, most: number, alive: () => void): Promise<string> {
	let size = 0;
	const parts: Uint8Array[] = [];
	for await (const part of response.body ?? []) {
		alive();
		size += part.length;
		if (size > most) throw tooLarge(response.url, most);
		parts.push(part);
	}
	return Buffer.concat(parts).toString('utf8');
}

const tooLarge = (url: string, most: number) =>
	new Failure('invalid', `The response of ${new URL(url).origin} has more than ${most} bytes.`, 'Use another server.');

const notJson = (url: string) => new Failure('invalid', `The response of ${url} is not JSON.`, advice.address);

function noAnswer(url: string, reply: ReturnType<typeof decodeReply>): Failure {
	const why = reply.ok
		? 'it has no choices'
		: `${reply.faults[0]?.path ?? ''} ${reply.faults[0]?.message ?? ''}`.trim();
	return new Failure('invalid', `${url} did not return completions: ${why}.`, advice.address);
}

/** @param value the decoded, redacted answer */
function saidFailure(url: string, value: unknown): Failure {
	return new Failure(
		'unavailable',
		`${new URL(url).origin} reports an error${saidOf(JSON.stringify(value))}.`,
		'Check the server log.',
	);
}
