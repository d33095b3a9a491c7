import { Failure } from '../../base/failure.ts';

/** What to do about a failure, in the words of whoever asked. */
export interface HttpAdvice {
	/** Nobody answers there. */
	readonly unreachable: string;
	readonly slow: string;
	/** 429. */
	readonly busy: string;
	/** 401, 403: with a key, and without one. */
	readonly wrongKey: string;
	readonly noKey: string;
	/** It leads elsewhere, or what it answers is not what was expected. */
	readonly address: string;
	/** Another refusal. */
	readonly refused: string;
}

/** A failure, and whether a further try may help. */
export interface HttpFailure {
	readonly failure: Failure;
	readonly passing: boolean;
	readonly waitMs?: number;
	/** 429. */
	readonly busy?: boolean;
}

/** No answer in time. */
export function tooSlow(origin: string, seconds: number, advice: HttpAdvice): HttpFailure {
	const failure = new Failure('unavailable', `${origin} did not respond within ${seconds} s.`, advice.slow);
	return { failure, passing: true };
}

/** No answer at all: what `fetch` threw. */
export function lostConnection(origin: string, error: unknown, advice: HttpAdvice): HttpFailure {
	const cause = (error as { cause?: { code?: unknown; message?: unknown } }).cause;
	const code = String(cause?.code ?? '');
	// Nobody listens there, or the name or the certificate is wrong: waiting does not change that.
	const passing = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'].includes(code);
	const why =
		code === 'ECONNREFUSED' ? 'nothing is listening there' : String(cause?.message ?? (error as Error).message);
	return {
		passing,
		failure: new Failure('unavailable', `No server responds at ${origin}: ${why}.`, advice.unreachable, {
			cause: error,
		}),
	};
}

/** An answer other than 2xx; null: it is none. `body` is the text of the answer. */
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
				`${origin} answered ${status}${status === 429 ? ' (too many requests)' : ''}${saidOf(body)}.`,
				status === 429 ? advice.busy : 'Check the server log.',
			),
		};
	}
	if (status === 401 || status === 403) {
		const action = where.hasKey ? advice.wrongKey : advice.noKey;
		return fail('denied', `${origin} refused the request (${status})${saidOf(body)}.`, action);
	}
	if (status >= 300 && status < 400) {
		return fail(
			'invalid',
			`${where.url} redirects elsewhere (${status}), and redirects are not followed.`,
			advice.address,
		);
	}
	if (status < 200 || status >= 300) {
		return fail('invalid', `${where.url} answered ${status}${saidOf(body)}.`, advice.refused);
	}
	return null;
}

/** What a server says of an error; the text itself where that is not JSON. */
export function serverMessage(text: string): string {
	try {
		const { error, message: plain, detail } = JSON.parse(text) ?? {};
		const said = [error?.message, error, plain, detail].find((part) => typeof part === 'string');
		return said ?? text;
	} catch {
		return text;
	}
}

/** ": what it said", in brief and without control characters; '' for nothing. */
export function saidOf(text: string): string {
	const message = serverMessage(text);
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
