import { type GuardOptions, rejectionOf } from '../../rpc/http/loopbackGuard.ts';
import { ApiError } from './apiError.ts';

/** Throws an `ApiError` if a request is not allowed. */
export function guard(headers: Headers, options: GuardOptions): void {
	const rejection = rejectionOf(headers, options);
	if (rejection === null) return;
	const { status, code, message } = rejection;
	const hint = code === 'origin_not_allowed' ? ' Allow the origin with --allow-origin.' : '';
	throw new ApiError(status, code, `${message}${hint}`);
}
