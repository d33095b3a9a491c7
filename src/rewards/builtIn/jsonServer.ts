import { parseBoundedJson } from '../../base/boundedJson.ts';
import { Failure } from '../../base/failure.ts';
import { Redactor } from '../../base/redactor.ts';
import { type HttpAdvice, lostConnection, refusal, tooSlow } from '../../rpc/http/httpFailures.ts';
import { RequestQueue, type Tried } from '../../rpc/http/requestQueue.ts';

export interface JsonServerOptions {
	/** Maximum number of concurrent requests. Further requests are queued. */
	readonly concurrency: number;
	/** Timeout per attempt. */
	readonly timeoutSeconds: number;
	/** Maximum number of retries after a timeout, a lost connection, 429 or 5xx. */
	readonly retries: number;
	/** Delay before the first retry, in milliseconds. Doubles with each retry. Default 500. */
	readonly firstWaitMs?: number;
	/** API keys by origin. A key is sent only to its own origin. */
	readonly keys: Readonly<Record<string, string>>;
}

const largestReply = 4 << 20;

const advice: HttpAdvice = {
	unreachable: 'Start the server, or fix "url".',
	slow: 'Increase "timeoutSeconds" or decrease "concurrency".',
	busy: 'Decrease "concurrency" or increase "retries".',
	wrongKey: 'Fix the API key for this server.',
	noKey: 'Set an API key for this server.',
	address: 'Fix "url".',
	refused: 'Fix "url", "model" or other options.',
};

/**
 * JSON client for a single server. Limits concurrency, retries transient failures, does not follow redirects, and never
 * sends a key to another origin.
 */
export class JsonServer {
	readonly #options: JsonServerOptions;
	readonly #queue: RequestQueue;

	constructor(options: JsonServerOptions) {
		this.#options = options;
		this.#queue = new RequestQueue(options);
	}

	/**
	 * Sends a POST request and returns the decoded reply. Fails with `unavailable` (no server, timeout or repeated
	 * errors), `denied` (401, 403), `invalid` (another error status, or a reply that is not JSON) or `cancelled`.
	 */
	post(url: string, body: unknown, signal: AbortSignal): Promise<unknown> {
		return this.#queue.run(() => this.#try(url, { body }, signal), signal);
	}

	/** Sends a GET request; otherwise like {@link post}. */
	get(url: string, signal: AbortSignal): Promise<unknown> {
		return this.#queue.run(() => this.#try(url, null, signal), signal);
	}

	async #try(url: string, sent: { readonly body: unknown } | null, signal: AbortSignal): Promise<Tried<unknown>> {
		const { timeoutSeconds, keys } = this.#options;
		const { origin } = new URL(url);
		const key = Object.hasOwn(keys, origin) ? keys[origin] : undefined;
		const redactor = new Redactor([key]);
		const timeout = AbortSignal.timeout(timeoutSeconds * 1000);
		let response: Response;
		let text: string;
		try {
			response = await fetch(url, {
				method: sent === null ? 'GET' : 'POST',
				headers: {
					...(sent === null ? {} : { 'content-type': 'application/json' }),
					accept: 'application/json',
					...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
				},
				...(sent === null ? {} : { body: JSON.stringify(sent.body) }),
				redirect: 'manual',
				signal: AbortSignal.any([signal, timeout]),
			});
			text = await readText(response);
		} catch (error) {
			if (signal.aborted) throw new Failure('cancelled', `The request to ${origin} was canceled.`);
			if (error instanceof Failure) return { failure: error, passing: false };
			return timeout.aborted ? tooSlow(origin, timeoutSeconds, advice) : lostConnection(origin, error, advice);
		}
		const refused = refusal(response, redactor.body(text), { url, hasKey: key !== undefined }, advice);
		if (refused !== null) return refused;
		try {
			return { result: redactor.value(parseBoundedJson(text)) };
		} catch {
			return {
				failure: new Failure('invalid', `The response from ${url} is not valid JSON.`, advice.address),
				passing: false,
			};
		}
	}
}

async function readText(response: Response): Promise<string> {
	let size = 0;
	const parts: Uint8Array[] = [];
	for await (const part of response.body ?? []) {
		size += part.length;
		if (size > largestReply)
			throw new Failure('invalid', `The response from ${new URL(response.url).origin} exceeds ${largestReply} bytes.`);
		parts.push(part);
	}
	return Buffer.concat(parts).toString('utf8');
}
