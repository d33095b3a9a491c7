import { Failure } from '../../base/failure.ts';

/** Advice on how to fix a failure, worded for the caller. */
export interface HttpAdvice {
	/** Nothing responds at the address. */
	readonly unreachable: string;
	readonly slow: string;
	/** 429. */
	readonly busy: string;
	/** 401 or 403, with and without a key. */
	readonly wrongKey: string;
	readonly noKey: string;
	/** The address redirects, or the response has an unexpected format. */
	readonly address: string;
	/** Any other error status. */
	readonly refused: string;
}

/** A failure, and whether retrying might help. */
export interface HttpFailure {
	readonly failure: Failure;
	readonly passing: boolean;
	readonly waitMs?: number;
	/** 429. */
	readonly busy?: boolean;
}

/** Creates the failure for a timeout. */
export function tooSlow(origin: string, seconds: number, advice: HttpAdvice): HttpFailure {
	const failure = new Failure('unavailable', `${origin} did not respond within ${seconds} s.`, advice.slow);
	return { failure, passing: true };
}

/** Creates the failure for a request without a response, from the error thrown by `fetch`. */
export function lostConnection(origin: string, error: unknown, advice: HttpAdvice): HttpFailure {
	const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
	const code = String(cause?.code ?? '');
	// Retrying does not help if nothing is listening or the name or certificate is wrong.
	const passing = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'].includes(code);
	const why =
		code === 'ECONNREFUSED' ? 'nothing is listening there' : String(cause?.message ?? (error as Error).message);
	return {
		passing,
		failure: new Failure('unavailable', `No server is responding at ${origin}: ${why}.`, advice.unreachable, {
			cause: error,
		}),
	};
}

/** Creates the failure for a status other than 2xx, or returns null if there is none. `body` is the response text. */
export function refusal(
	response: { readonly status: number; readonly headers: Headers },
	body: string,
	where: { readonly url: string; readonly hasKey: boolean },
	advice: HttpAdvice,
): HttpFailure | null {
	const { status } = response;
	const { origin } = new URL(where.url);
	const fail = (reason: Failure['reason'], message: string, action: string): HttpFailure => ({
		failure: new Failure(reason, message, action),
		passing: false,
	});
	if (status === 429 || status >= 500) {
		const waitMs = retryAfter(response.headers.get('retry-after'));
		return {
			passing: true,
			busy: status === 429,
			...(waitMs === null ? {} : { waitMs }),
			failure: new Failure(
				'unavailable',
				`${origin} returned ${status}${status === 429 ? ' (too many requests)' : ''}${saidOf(body)}.`,
				status === 429 ? advice.busy : 'Check the server log.',
			),
		};
	}
	if (status === 401 || status === 403) {
		const action = where.hasKey ? advice.wrongKey : advice.noKey;
		return fail('denied', `${origin} rejected the request (${status})${saidOf(body)}.`, action);
	}
	if (status >= 300 && status < 400) {
		return fail(
			'invalid',
			`${where.url} redirects to another address (${status}), and redirects are not followed.`,
			advice.address,
		);
	}
	if (status < 200 || status >= 300) {
		return fail('invalid', `${where.url} returned ${status}${saidOf(body)}.`, advice.refused);
	}
	return null;
}

/** Returns the error message in a server's response, or the text itself if it is not JSON. */
export function serverMessage(text: string): string {
	try {
		const { error, message: plain, detail } = JSON.parse(text) ?? {};
		const said = [error?.message, error, plain, detail].find((part) => typeof part === 'string');
		return said ?? text;
	} catch {
		return text;
	}
}

/** Returns ": " and a truncated message without control characters, or '' if the response is empty. */
export function saidOf(text: string): string {
	const message = serverMessage(text);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
	const brief = message.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').trim();
	return brief === '' ? '' : `: ${brief.length > 200 ? `${brief.slice(0, 200)}…` : brief.replace(/\.$/, '')}`;
}

/** Parses a Retry-After header, either seconds or a date, and returns milliseconds. */
function retryAfter(header: string | null): number | null {
	if (header === null) return null;
	const seconds = Number(header);
	const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
	return Number.isFinite(ms) ? Math.max(0, ms) : null;
}
