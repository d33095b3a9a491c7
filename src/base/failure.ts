/**
 * Machine-readable reasons for failures. The set is closed: the message is for users, the reason is for code.
 * - `invalid`: malformed input; `missing`: a file or value does not exist; `exists`: it already exists
 * - `busy`: in use by another process; `unsupported`: valid, but not supported by this version; `denied`: no
 *   permission
 * - `full`: disk or device memory full; `corrupt`: damaged file; `mismatch`: belongs to something else
 * - `version`: the two sides use different protocol versions; `unavailable`: the other side does not exist
 * - `timeout`, `cancelled`, `internal`: self-explanatory
 */
export const reasons = [
	'invalid',
	'missing',
	'exists',
	'busy',
	'unsupported',
	'denied',
	'full',
	'corrupt',
	'mismatch',
	'version',
	'unavailable',
	'timeout',
	'cancelled',
	'internal',
] as const;
export type Reason = (typeof reasons)[number];

export interface FailureData {
	readonly reason: Reason;
	/** One sentence: what failed and where. */
	readonly message: string;
	/** One sentence: how to fix it. */
	readonly action?: string | undefined;
	/** The model's context length in tokens, if the input exceeded it. */
	readonly context?: number | undefined;
}

/** The only error class shown to users: a message (what failed and where) and an action (how to fix it). */
export class Failure extends Error implements FailureData {
	override readonly name = 'Failure';
	readonly reason: Reason;
	readonly action?: string;
	readonly context?: number;

	constructor(
		reason: Reason,
		message: string,
		action?: string,
		options?: { readonly cause?: unknown; readonly context?: number | undefined },
	) {
		super(message, options);
		this.reason = reason;
		if (action !== undefined) this.action = action;
		if (options?.context !== undefined) this.context = options.context;
	}

	/** Restores a failure reported by another process or read from a file. */
	static of({ reason, message, action, context }: FailureData): Failure {
		return new Failure(reason, message, action, { context });
	}

	toJSON(): FailureData {
		return {
			reason: this.reason,
			message: this.message,
			...(this.action === undefined ? {} : { action: this.action }),
			...(this.context === undefined ? {} : { context: this.context }),
		};
	}

	/** Returns the message and the action as one string. */
	override toString(): string {
		return this.action === undefined ? this.message : `${this.message} ${this.action}`;
	}

	/** Converts any thrown value to a Failure. System error codes are mapped to reasons. */
	static from(error: unknown, doing?: string): Failure {
		if (error instanceof Failure) return error;
		const code = (error as { code?: unknown } | null)?.code;
		const message = sentence(doing, error);
		switch (code) {
			case 'ENOSPC':
			case 'EDQUOT':
				return new Failure('full', message, 'Free some disk space, then resume the run.', { cause: error });
			case 'EACCES':
			case 'EPERM':
			case 'EROFS':
				return new Failure('denied', message, 'Choose a folder you can write to.', { cause: error });
			case 'ENOENT':
				return new Failure('missing', message, undefined, { cause: error });
			case 'EEXIST':
				return new Failure('exists', message, undefined, { cause: error });
			case 'ENOTDIR':
			case 'EISDIR':
			case 'ELOOP':
			case 'ENAMETOOLONG':
				return new Failure('invalid', message, undefined, { cause: error });
			case 'ABORT_ERR':
				return new Failure('cancelled', message, undefined, { cause: error });
			default:
				return new Failure('internal', message, undefined, { cause: error });
		}
	}
}

/** Returns a sentence such as "Cannot write x: no space left on device." without the error code and syscall name. */
function sentence(doing: string | undefined, error: unknown): string {
	const raw = error instanceof Error ? error.message : String(error);
	const text =
		(error as { syscall?: unknown } | null)?.syscall === undefined
			? raw
			: raw.replace(/^[A-Z0-9]+: ([^,]+),.*$/s, '$1');
	const whole = doing === undefined ? text : `${doing}: ${text}`;
	return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
