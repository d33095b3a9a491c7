/** Serializes to JSON with sorted object keys, so that equal values produce equal text. */
export function canonicalJson(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map((entry) => canonicalJson(entry ?? null)).join(',')}]`;
	if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
	const entries = Object.entries(value)
		.filter(([, entry]) => entry !== undefined)
		.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
	return `{${entries.map(([key, entry]) => `${JSON.stringify(key)}:${canonicalJson(entry)}`).join(',')}}`;
}

/** Returns a copy of the value with a function applied to each string. */
export async function mapTexts(value: unknown, change: (text: string) => Promise<string>): Promise<unknown> {
	if (typeof value === 'string') return change(value);
	if (Array.isArray(value)) return Promise.all(value.map((entry) => mapTexts(entry, change)));
	if (typeof value !== 'object' || value === null) return value;
	const entries = await Promise.all(
		Object.entries(value).map(async ([key, entry]) => [key, await mapTexts(entry, change)] as const),
	);
	return Object.fromEntries(entries);
}
