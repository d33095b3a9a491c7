import { createHash, timingSafeEqual } from 'node:crypto';
import { ApiError } from './apiError.ts';

export interface GuardOptions {
	/** Port of the running server. */
	readonly port: number;
	/** null if no token is required. */
	readonly token: string | null;
	/** Origins of web pages that are allowed access, such as `http://localhost:3000`. */
	readonly origins: readonly string[];
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Checks who may send requests. A page from another site can reach a server on this machine through the browser of
 * anyone who views the page: either by the server's address (the browser then sends the page's Origin) or by its own
 * domain name that resolves to this machine (Host then contains that name). Both are rejected before the token is
 * checked. Throws an `ApiError`.
 */
export function guard(headers: Headers, { port, token, origins }: GuardOptions): void {
	const host = headers.get('host')?.toLowerCase() ?? '';
	if (!loopback.some((name) => host === `${name}:${port}` || (port === 80 && host === name))) {
		throw new ApiError(403, 'host_not_allowed', 'The Host header is not an address of this server.');
	}
	const origin = headers.get('origin');
	if (origin !== null && !originAllowed(origin, port, origins)) {
		throw new ApiError(
			403,
			'origin_not_allowed',
			'Pages from this origin have no access to the server. Allow the origin with --allow-origin.',
		);
	}
	if (token === null) return;
	const given = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
	if (given === undefined) {
		throw new ApiError(401, 'missing_token', 'Send the server token as Authorization: Bearer TOKEN.');
	}
	if (!sameText(given, token)) throw new ApiError(401, 'invalid_token', 'The token does not match this server.');
}

export function originAllowed(origin: string, port: number, origins: readonly string[]): boolean {
	return origins.includes(origin) || loopback.some((name) => origin === `http://${name}:${port}`);
}

/** Compares two strings in time that does not depend on where they differ. */
function sameText(a: string, b: string): boolean {
	const digest = (text: string) => createHash('sha256').update(text).digest();
	return timingSafeEqual(digest(a), digest(b));
}
