import { Failure, type Reason } from '../../base/failure.ts';

/** HTTP status codes that describe a failure and that OpenAI's clients map to exceptions. */
export type ApiStatus = 400 | 401 | 403 | 404 | 405 | 413 | 415 | 429 | 500 | 502 | 503 | 504;

/** An error in OpenAI's API format: `{error: {message, type, param, code}}`. */
export class ApiError extends Error {
	override readonly name = 'ApiError';
	readonly status: ApiStatus;
	readonly code: string;
	readonly param: string | null;

	constructor(status: ApiStatus, code: string, message: string, param: string | null = null) {
		super(message);
		this.status = status;
		this.code = code;
		this.param = param;
	}

	get body() {
		return { error: { message: this.message, type: typeOf(this.status), param: this.param, code: this.code } };
	}

	/** Converts any thrown value; the message of an internal error is not exposed. */
	static from(error: unknown): ApiError {
		if (error instanceof ApiError) return error;
		if (!(error instanceof Failure)) return new ApiError(500, 'internal', 'Internal server error; see the server log.');
		return new ApiError(statuses[error.reason], error.reason, error.toString());
	}
}

const statuses: Readonly<Record<Reason, ApiStatus>> = {
	invalid: 400,
	missing: 404,
	exists: 400,
	busy: 429,
	unsupported: 400,
	denied: 403,
	full: 503,
	corrupt: 500,
	mismatch: 400,
	version: 500,
	unavailable: 503,
	timeout: 504,
	cancelled: 503,
	internal: 500,
};

function typeOf(status: ApiStatus): string {
	switch (status) {
		case 401:
			return 'authentication_error';
		case 403:
			return 'permission_error';
		case 429:
			return 'rate_limit_error';
		default:
			return status < 500 ? 'invalid_request_error' : 'server_error';
	}
}
