/** Validated reward result for one row: either its value or a description of the error. */
export type CheckedValue = { readonly value: number | null } | { readonly fault: string };

const none = { value: null };

/**
 * Accepts a finite number or null. For anything else, the error describes the value.
 * @param found start of the error: where the value was found
 */
export function checkValue(value: unknown, found = 'returned'): CheckedValue {
	if (typeof value === 'number') {
		if (Number.isFinite(value)) return { value };
		return { fault: `${found} ${value}, but a reward must be a finite number, or null if it does not apply` };
	}
	if (value === null) return none;
	return { fault: `${found} ${nameOf(value)}, but a reward must be a number, or null if it does not apply` };
}

/** Describes a value in a few words for use in messages. */
export function nameOf(value: unknown): string {
	switch (typeof value) {
		case 'string':
			return `the string ${JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)}`;
		case 'boolean':
			return `the boolean ${value}`;
		case 'bigint':
			return 'a bigint';
		case 'object':
			return value === null ? 'null' : Array.isArray(value) ? `a list of length ${value.length}` : 'an object';
		case 'undefined':
			return 'nothing (undefined)';
		default:
			return `a ${typeof value}`;
	}
}
