/* Accessors for untrusted parsed JSON. They read only own properties, never inherited ones. */

export type Table = Readonly<Record<string, unknown>>;

export const isTable = (value: unknown): value is Table =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

export function field(value: unknown, name: string): unknown {
	return isTable(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

export function textField(value: unknown, name: string): string | null {
	const text = field(value, name);
	return typeof text === 'string' ? text : null;
}

/** Returns a finite number; a JSON number beyond double range is treated as missing. */
export function numberField(value: unknown, name: string): number | null {
	return finite(field(value, name));
}

export const finite = (value: unknown): number | null =>
	typeof value === 'number' && Number.isFinite(value) ? value : null;

/** Returns a positive integer, or null for anything else. */
export function countField(value: unknown, name: string): number | null {
	const number = field(value, name);
	return Number.isSafeInteger(number) && (number as number) > 0 ? (number as number) : null;
}

export function listField(value: unknown, name: string): readonly unknown[] | null {
	const list = field(value, name);
	return Array.isArray(list) ? list : null;
}

/** Copies the given fields that are present and not null; see {@link shallow}. */
export function pick(value: unknown, names: readonly string[]): Record<string, unknown> {
	const picked: Record<string, unknown> = {};
	for (const name of names) {
		const inner = field(value, name);
		if (inner !== undefined && inner !== null) picked[name] = shallow(inner);
	}
	return picked;
}

/** Returns a copy with limited nesting depth, because JSON serialization is recursive. */
export function shallow(value: unknown, levels = 4): unknown {
	if (Array.isArray(value)) return levels === 0 ? null : value.map((inner) => shallow(inner, levels - 1));
	if (!isTable(value)) return typeof value === 'number' ? finite(value) : value;
	if (levels === 0) return null;
	return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shallow(inner, levels - 1)]));
}
