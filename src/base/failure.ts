/**
 * Why something could not be done. A closed union: the text is for people, the reason is for code.
 * - `invalid`: the input breaks its format; `missing`: a file or a value does not exist; `exists`: it is there and must not be
 * - `busy`: somebody else holds it; `unsupported`: understood, but this version cannot do it; `denied`: no permission
 * - `full`: the disk has no room; `corrupt`: a file is damaged; `mismatch`: it belongs to something else
 * - `version`: the two sides speak different versions; `unavailable`: the other side does not exist
 * - `timeout`, `cancelled`, `internal`: as the words say
 */
export type Reason =
	| 'invalid'
	| 'missing'
	| 'exists'
	| 'busy'
	| 'unsupported'
	| 'denied'
	| 'full'
	| 'corrupt'
	| 'mismatch'
	| 'version'
	| 'unavailable'
	| 'timeout'
	| 'cancelled'
	| 'internal';

export interface FailureData {
	readonly reason: Reason;
	/** One sentence: what, where. */
	readonly message: string;
	/** One sentence: what to do about it. */
	readonly action?: string;
}

/** The one error class that reaches users: a sentence that says what and where, and an action that says what to do. */
export class Failure extends Error implements FailureData {
	override readonly name = 'Failure';
	readonly reason: Reason;
	readonly action?: string;

	constructor(reason: Reason, message: string, action?: string, options?: { cause?: unknown }) {
		super(message, options);
		this.reason = reason;
		if (action !== undefined) this.action = action;
	}

	toJSON(): FailureData {
		return {
			reason: this.reason,
			message: this.message,
			...(this.action === undefined ? {} : { action: this.action }),
		};
	}

	/** The sentence and the action, as one text. */
	override toString(): string {
		return this.action === undefined ? this.message : `${this.message} ${this.action}`;
	}

	/** Any thrown value as a Failure; system errors keep their code's meaning. */
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

/** "Cannot write x: no space left on device.": of a system error its words, without code and call. */
function sentence(doing: string | undefined, error: unknown): string {
	const raw = error instanceof Error ? error.message : String(error);
	const text =
		(error as { syscall?: unknown } | null)?.syscall === undefined
			? raw
			: raw.replace(/^[A-Z0-9]+: ([^,]+),.*$/s, '$1');
	const whole = doing === undefined ? text : `${doing}: ${text}`;
	return /[.!?]$/.test(whole) ? whole : `${whole}.`;
}
