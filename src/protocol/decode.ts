import * as v from 'valibot';
import { Failure } from '../base/failure.ts';

export type Schema<T> = v.GenericSchema<unknown, T>;

function pathOf(issue: v.BaseIssue<unknown>): string {
	return (issue.path ?? [])
		.map((item, i) =>
			typeof item.key === 'number' ? `[${item.key}]` : i === 0 ? String(item.key) : `.${String(item.key)}`,
		)
		.join('');
}

/** Returns an issue's message, keeping the library's wording where it is clear. */
function messageOf({ kind, type, expected, received, message }: v.BaseIssue<unknown>): string {
	if (kind === 'schema' && type === 'strict_object' && expected === 'never') return 'unknown field';
	if (kind === 'schema' && /object$/.test(type) && received === 'undefined' && expected?.startsWith('"')) {
		return 'it is missing';
	}
	return message;
}

export interface Fault {
	/** Path of the value, such as `stages[1].beta`. Empty for the root value. */
	readonly path: string;
	readonly message: string;
}

export type Decoded<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly faults: Fault[] };

/** Decodes a value from another process, a file or the user. Never casts. */
export function decode<T>(schema: Schema<T>, value: unknown): Decoded<T> {
	const result = v.safeParse(schema, value);
	if (result.success) return { ok: true, value: result.output };
	return { ok: false, faults: result.issues.map((issue) => ({ path: pathOf(issue), message: messageOf(issue) })) };
}

/**
 * Same as {@link decode}, but throws a `Failure` with the first error. `what` is the value's display name: "run.json".
 */
export function decodeOrThrow<T>(schema: Schema<T>, value: unknown, what: string): T {
	const result = decode(schema, value);
	if (result.ok) return result.value;
	const fault = result.faults[0];
	const at = fault?.path ? ` at ${fault.path}` : '';
	throw new Failure('invalid', `${what} is not valid${at}: ${fault?.message ?? 'unknown error'}.`);
}
