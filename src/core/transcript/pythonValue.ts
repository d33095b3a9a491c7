/** Parsed `Name(...)` expression, which is never called. */
export class PythonCall {
	/** Dotted name: `datetime.datetime`. */
	readonly name: string;
	readonly positional: readonly unknown[];
	readonly named: Readonly<Record<string, unknown>>;
	/** UTF-16 offset of the name. */
	readonly offset: number;

	constructor(name: string, positional: readonly unknown[], named: Readonly<Record<string, unknown>>, offset: number) {
		this.name = name;
		this.positional = positional;
		this.named = named;
		this.offset = offset;
	}
}

/** Object from a file. Read only own keys, because a file can contain keys such as `constructor` or `__proto__`. */
export type Table = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is Table {
	return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof PythonCall);
}

/** Returns a field of an object or a named argument of a call; undefined if it is missing or `None`. */
export function field(value: unknown, name: string): unknown {
	const table = value instanceof PythonCall ? value.named : isTable(value) ? value : null;
	return table !== null && Object.hasOwn(table, name) ? (table[name] ?? undefined) : undefined;
}

export function textField(value: unknown, name: string): string | null {
	const found = field(value, name);
	return typeof found === 'string' ? found : null;
}

/** Returns a nonnegative integer from a file; null for anything else. */
export function countField(value: unknown, name: string): number | null {
	const found = field(value, name);
	return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : null;
}
