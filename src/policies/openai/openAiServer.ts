import { createParser } from 'eventsource-parser';
import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { Redactor } from '../../base/redactor.ts';
import { type HttpAdvice, lostConnection, refusal, saidOf, tooSlow } from '../../rpc/http/httpFailures.ts';
import { RequestQueue, type Tried } from '../../rpc/http/requestQueue.ts';
import { decodeReply, isErrorReply, type Reply } from './replyParts.ts';

export interface OpenAiServerOptions {
	/** URL including the path up to /v1, without a trailing slash. */
	readonly baseUrl: string;
	/** API key, sent only to this server. */
	readonly key: string | null;
	readonly parallel: number;
	readonly requestsPerMinute?: number;
	/** Maximum time without progress in a response. */
	readonly timeoutSeconds: number;
	readonly retries: number;
	/** Delay before the first retry. Default: 500. */
	readonly firstWaitMs?: number;
}

/** Receives the parts of a response. */
export interface ReplyListener {
	/** Called when an attempt begins. Discard any earlier parts. */
	begin(): void;
	/** @returns whether the part added anything: a server that only sends empty parts has stalled */
	part(reply: Reply): boolean;
	/** Whether enough parts have been received. */
	readonly done: boolean;
}

/** How a response ended. */
export interface ReplyEnd {
	/** Why the response was interrupted after it began, or null if it finished. */
	readonly broken: Failure | null;
	/** Number of unreadable parts. */
	readonly rubbish: number;
	/** Whether the server reported the end of the stream. */
	readonly said: boolean;
}

/** Maximum size of a response and of an error body, in bytes. */
const largestReply = 64 << 20;
const largestError = 64 << 10;
/** Maximum size of a stream event, in bytes. */
const largestEvent = 4 << 20;
/** Maximum total duration of a response, as a multiple of the timeout, however slowly data arrives. */
const longestFactor = 30;

const advice: HttpAdvice = {
	unreachable: 'Start the server, or correct its URL.',
	slow: 'Increase "timeoutSeconds" in the policy, or decrease "parallel".',
	busy: 'Decrease "parallel" or "requestsPerMinute" in the policy, or increase "retries".',
	wrongKey: 'Correct the API key for the policy.',
	noKey: 'Set an API key for the policy. On the command line, use --key-variable NAME.',
	address: 'Correct the URL in the policy. It must include the path up to /v1.',
	refused: 'Correct the model, URL or other options in the policy.',
};

/** An error response, including the server's message for callers that can act on it. */
export class Refused extends Failure {
	readonly status: number;
	/** Start of the response body. */
	readonly body: string;

	constructor(failure: Failure, status: number, body: string) {
		super(failure.reason, failure.message, failure.action);
		this.status = status;
		this.body = body;
	}
}

/** Server interface for search requests. */
export type AskableServer = Pick<OpenAiServer, 'ask' | 'origin' | 'redactor'>;

/**
 * Client for an OpenAI-compatible server. Every call settles within time and size limits, whatever the server sends.
 */
export class OpenAiServer {
	readonly #options: OpenAiServerOptions;
	readonly #queue: RequestQueue;
	readonly origin: string;
	/** Redacts the API key in anything the server sends. */
	readonly redactor: Redactor;
	/** Whether the server has responded before. If so, a refused connection may be temporary. */
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
	 * Posts a request and passes the response to the listener, whole or as a stream. Fails with {@link Refused},
	 * `denied`, `unavailable`, `invalid` (malformed response) or `cancelled` if nothing has been received.
	 */
	ask(path: string, body: object, listener: ReplyListener, signal: AbortSignal): Promise<ReplyEnd> {
		return this.#ask(path, body, listener, signal, false);
	}

	/** The same server for probing: errors count as results and are not retried (except after 429). */
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

	/** Returns the IDs of available models. Fails with the same errors as `ask`. */
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
		if (!Array.isArray(data)) throw new Failure('invalid', `${this.origin} returned no model list.`, advice.address);
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

	/**
	 * Sends one request and passes the response to `read`. A failure after the first part counts as the end of the
	 * response.
	 */
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
	// Do not wait for the rest: the server may have stalled.
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
	const what =
		rubbish > 0
			? `sent ${rubbish} invalid ${rubbish === 1 ? 'part' : 'parts'}`
			: 'ended the stream without sending any text';
	return {
		failure: new Failure('unavailable', `${new URL(url).origin} ${what}.`, 'Check the server log.'),
		passing: rubbish === 0,
	};
}

async function readText(response: Response, limit: number, alive: () => void): Promise<string> {
	let size = 0;
	const parts: Uint8Array[] = [];
	for await (const part of response.body ?? []) {
		alive();
		size += part.length;
		if (size > limit) throw tooLarge(response.url, limit);
		parts.push(part);
	}
	return Buffer.concat(parts).toString('utf8');
}

const tooLarge = (url: string, limit: number) =>
	new Failure('invalid', `The response from ${new URL(url).origin} exceeds ${limit} bytes.`, 'Use another server.');

const notJson = (url: string) => new Failure('invalid', `The response from ${url} is not JSON.`, advice.address);

function noAnswer(url: string, reply: ReturnType<typeof decodeReply>): Failure {
	const why = reply.ok
		? 'the response has no choices'
		: `${reply.faults[0]?.path ?? ''} ${reply.faults[0]?.message ?? ''}`.trim();
	return new Failure('invalid', `${url} did not return completions: ${why}.`, advice.address);
}

/** @param value the decoded, redacted response */
function saidFailure(url: string, value: unknown): Failure {
	return new Failure(
		'unavailable',
		`${new URL(url).origin} reported an error${saidOf(JSON.stringify(value))}.`,
		'Check the server log.',
	);
}
