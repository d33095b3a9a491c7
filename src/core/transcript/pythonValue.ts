/** What the reader of literals makes of `Name(...)`: nothing is called. */
export class PythonCall {
	/** With its dots: `datetime.datetime`. */
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

/** A table of a file: own keys only, as a file may name its keys `constructor` or `__proto__`. */
export type Table = Readonly<Record<string, unknown>>;

export function isTable(value: unknown): value is Table {
	return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof PythonCall);
}

/** A field of a table or a named argument of a call; undefined where there is none, or `None`. */
export function field(value: unknown, name: string): unknown {
	const table = value instanceof PythonCall ? value.named : isTable(value) ? value : null;
	return table !== null && Object.hasOwn(table, name) ? (table[name] ?? undefined) : undefined;
}

export function textField(value: unknown, name: string): string | null {
	const found = field(value, name);
	return typeof found === 'string' ? found : null;
}

/** A count of a file: a whole number of at least 0; null for anything else. */
export function countField(value: unknown, name: string): number | null {
	const found = field(value, name);
	return typeof found === 'number' && Number.isSafeInteger(found) && found >= 0 ? found : null;
}
