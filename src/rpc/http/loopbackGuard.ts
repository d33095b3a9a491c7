import { randomBytes } from 'node:crypto';
import { sameSecret } from '../sameSecret.ts';

export interface GuardOptions {
	/** Port of the running server. */
	readonly port: number;
	/** null if no token is required. */
	readonly token: string | null;
	/** Origins of web pages that are allowed access, such as `http://localhost:3000`. */
	readonly origins: readonly string[];
}

/** Why a request is rejected. */
export interface Rejection {
	readonly status: 401 | 403;
	readonly code: 'host_not_allowed' | 'origin_not_allowed' | 'missing_token' | 'invalid_token';
	readonly message: string;
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

export const newToken = () => randomBytes(24).toString('base64url');

/**
 * Checks whether a request to a server on this machine is allowed, and returns null if it is. A page from another site
 * can reach such a server through the browser of anyone who views the page: either by the server's address (the browser
 * then sends the page's Origin) or by its own domain name that resolves to this machine (Host then contains that name).
 * Both are rejected before the token is checked.
 */
export function rejectionOf(headers: Headers, { port, token, origins }: GuardOptions): Rejection | null {
	const host = headers.get('host')?.toLowerCase() ?? '';
	if (!loopback.some((name) => host === `${name}:${port}` || (port === 80 && host === name))) {
		const message = 'The Host header is not an address of this server.';
		return { status: 403, code: 'host_not_allowed', message };
	}
	const origin = headers.get('origin');
	if (origin !== null && !originAllowed(origin, port, origins)) {
		const message = 'Pages from this origin cannot access the server.';
		return { status: 403, code: 'origin_not_allowed', message };
	}
	if (token === null) return null;
	const given = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
	if (given === undefined) {
		const message = 'Send the server token as Authorization: Bearer TOKEN.';
		return { status: 401, code: 'missing_token', message };
	}
	if (sameSecret(given, token)) return null;
	return { status: 401, code: 'invalid_token', message: 'The token does not match this server.' };
}

function originAllowed(origin: string, port: number, origins: readonly string[]): boolean {
	return origins.includes(origin) || loopback.some((name) => origin === `http://${name}:${port}`);
}
