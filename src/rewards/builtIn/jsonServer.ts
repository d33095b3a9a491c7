import { Failure } from '../../base/failure.ts';

export interface JsonServerOptions {
	/** Requests in flight at once; the others wait in their order. */
	readonly concurrency: number;
	/** Of one try. */
	readonly timeoutSeconds: number;
	/** Further tries after a timeout, a lost connection, 429 or 5xx. */
	readonly retries: number;
	/** Wait before the first further try; it doubles each time. Default 500. */
	readonly firstWaitMs?: number;
	/** API keys by origin; one is sent to its own origin only. */
	readonly keys: Readonly<Record<string, string>>;
}

const largestReply = 4 << 20;
const longestWaitMs = 60_000;

/** The keys by origin that the process was given (`REASONING_LAB_API_KEYS`); none when there are none. */
export function apiKeysOf(environment: Readonly<Record<string, string | undefined>>): Record<string, string> {
	try {
		const keys: unknown = JSON.parse(environment.REASONING_LAB_API_KEYS ?? '{}');
		if (typeof keys !== 'object' || keys === null) return {};
		return Object.fromEntries(Object.entries(keys).filter(([, key]) => typeof key === 'string' && key !== ''));
	} catch {
		return {};
	}
}

/** What a try came to: a reply, or a failure that may pass. */
type Tried =
	| { readonly reply: unknown }
	| { readonly failure: Failure; readonly passing: boolean; readonly waitMs?: number };

/** Posts JSON to one server: so many requests at once, again after failures that pass, no redirects, no key elsewhere. */
export class JsonServer {
	readonly #options: JsonServerOptions;
	readonly #waiting: (() => void)[] = [];
	#inFlight = 0;
	/** Nothing is sent before this time: a server that says "slow down" says it to all requests. */
	#pausedUntil = 0;

	constructor(options: JsonServerOptions) {
		this.#options = options;
	}

	/**
	 * The decoded reply. Fails with `unavailable` (no server, or it does not answer in time or keeps failing), `denied` (401,
	 * 403), `invalid` (another refusal, or a reply that is not JSON), `cancelled`.
	 */
	async post(url: string, body: unknown, signal: AbortSignal): Promise<unknown> {
		await this.#enter(signal);
		try {
			let waitMs = this.#options.firstWaitMs ?? 500;
			for (let left = this.#options.retries; ; left--) {
				await this.#pause(signal);
				const tried = await this.#try(url, body, signal);
				if ('reply' in tried) return tried.reply;
				if (!tried.passing || left <= 0) throw tried.failure;
				const wait = Math.min(longestWaitMs, tried.waitMs ?? waitMs * (0.75 + Math.random() / 2));
				if (tried.waitMs !== undefined) this.#pausedUntil = Math.max(this.#pausedUntil, Date.now() + wait);
				await sleep(wait, signal);
				waitMs *= 2;
			}
		} finally {
			this.#leave();
		}
	}

	async #try(url: string, body: unknown, signal: AbortSignal): Promise<Tried> {
		const { timeoutSeconds, keys } = this.#options;
		const { origin } = new URL(url);
		const key = Object.hasOwn(keys, origin) ? keys[origin] : undefined;
		const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
		let response: Response;
		let text: string;
		try {
			response = await fetch(url, {
				method: 'POST',
				headers: {
					'content-type': 'application/json',
					accept: 'application/json',
					...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
				},
				body: JSON.stringify(body),
				redirect: 'manual',
				signal: AbortSignal.any([signal, timeout]),
			});
			text = await readText(response);
		} catch (error) {
			if (signal.aborted) throw new Failure('cancelled', `The request to ${origin} was cancelled.`);
			if (error instanceof Failure) return { failure: error, passing: false };
			if (timeout.aborted) return { failure: tooSlow(origin, timeoutSeconds), passing: true };
			return lost(origin, error);
		}
		return understood(response, text, url, origin, key !== undefined);
	}

	async #enter(signal: AbortSignal): Promise<void> {
		if (this.#inFlight >= this.#options.concurrency) await new Promise<void>((go) => this.#waiting.push(go));
		else this.#inFlight++;
		if (!signal.aborted) return;
		this.#leave();
		throw new Failure('cancelled', 'The request was cancelled.');
	}

	/** The place goes to the next that waits. */
	#leave(): void {
		const next = this.#waiting.shift();
		if (next === undefined) this.#inFlight--;
		else next();
	}

	async #pause(signal: AbortSignal): Promise<void> {
		for (let left = this.#pausedUntil - Date.now(); left > 0; left = this.#pausedUntil - Date.now()) {
			await sleep(left, signal);
		}
	}
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve, reject) => {
		const stop = () => {
			clearTimeout(timer);
			reject(new Failure('cancelled', 'The request was cancelled.'));
		};
		const timer = setTimeout(() => {
			signal.removeEventListener('abort', stop);
			resolve();
		}, ms);
		if (signal.aborted) stop();
		else signal.addEventListener('abort', stop, { once: true });
	});
}

async function readText(response: Response): Promise<string> {
	let size = 0;
	const parts: Uint8Array[] = [];
	for await (const part of response.body ?? []) {
		size += part.length;
		if (size > largestReply)
			throw new Failure('invalid', `The reply of ${new URL(response.url).origin} has more than ${largestReply} bytes.`);
		parts.push(part);
	}
	return Buffer.concat(parts).toString('utf8');
}

function tooSlow(origin: string, seconds: number): Failure {
	return new Failure(
		'unavailable',
		`${origin} did not answer within ${seconds} s.`,
		'Raise "timeoutSeconds" or lower "concurrency".',
	);
}

function lost(origin: string, error: unknown): Tried {
	const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
	const code = String(cause?.code ?? '');
	// Nobody listens there, or the name or the certificate is wrong: waiting does not change that.
	const passing = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'].includes(code);
	const why = code === 'ECONNREFUSED' ? 'nothing listens there' : String(cause?.message ?? (error as Error).message);
	return {
		passing,
		failure: new Failure('unavailable', `No server answers at ${origin}: ${why}.`, 'Start it, or correct "url".', {
			cause: error,
		}),
	};
}

function understood(response: Response, text: string, url: string, origin: string, hasKey: boolean): Tried {
	const { status } = response;
	const fail = (reason: Failure['reason'], message: string, action?: string): Tried => ({
		failure: new Failure(reason, message, action),
		passing: false,
	});
	if (status === 429 || status >= 500) {
		const waitMs = retryAfter(response.headers.get('retry-after'));
		return {
			passing: true,
			...(waitMs === null ? {} : { waitMs }),
			failure: new Failure(
				'unavailable',
				`${origin} answered ${status}${status === 429 ? ' (too many requests)' : ''}${said(text)}.`,
				status === 429 ? 'Lower "concurrency" or raise "retries".' : 'Look at the log of the server.',
			),
		};
	}
	if (status === 401 || status === 403) {
		const action = hasKey ? 'Correct its API key.' : 'Set the API key of this server.';
		return fail('denied', `${origin} refused the request (${status})${said(text)}.`, action);
	}
	if (status >= 300 && status < 400) {
		return fail('invalid', `${url} leads elsewhere (${status}), and that is not followed.`, 'Correct "url".');
	}
	if (status < 200 || status >= 300) {
		return fail('invalid', `${url} answered ${status}${said(text)}.`, 'Correct "url", "model" or the other options.');
	}
	try {
		return { reply: JSON.parse(text) };
	} catch {
		return fail('invalid', `The reply of ${url} is not JSON.`, 'Correct "url".');
	}
}

/** What a server says of an error, in brief. */
function said(text: string): string {
	let message = text;
	try {
		const { error, message: plain, detail } = JSON.parse(text) ?? {};
		message = [error?.message, error, plain, detail].find((part) => typeof part === 'string') ?? text;
	} catch {
		// Not JSON: the text itself.
	}
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
	const brief = message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
	return brief === '' ? '' : `: ${brief.length > 200 ? `${brief.slice(0, 200)}…` : brief.replace(/\.$/, '')}`;
}

/** Milliseconds of a Retry-After header, a number of seconds or a date. */
function retryAfter(header: string | null): number | null {
	if (header === null) return null;
	const seconds = Number(header);
	const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
	return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
