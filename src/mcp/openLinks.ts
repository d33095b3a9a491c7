/** Keys of addresses in responses, and of the links next to them. */
const linkKey = (key: string): string | null => {
	if (key === 'addresses') return 'links';
	return key === 'address' ? 'link' : key.endsWith('_address') ? key.replace(/address$/, 'link') : null;
};

/**
 * Returns a response with a link next to each address, for clients that open links but not `rl://`. Quoted text is left
 * unchanged.
 * @param linkOf returns the link that opens an address
 */
export function withLinks(value: unknown, linkOf: (address: string) => string): unknown {
	if (Array.isArray(value)) return value.map((one) => withLinks(one, linkOf));
	if (typeof value !== 'object' || value === null) return value;
	const entries = Object.entries(value).flatMap(([key, one]): [string, unknown][] => {
		if (key === 'quoted_text') return [[key, one]];
		const name = linkKey(key);
		const link = name === null ? undefined : linked(one, linkOf);
		return [
			[key, withLinks(one, linkOf)],
			...(name === null || link === undefined ? [] : [[name, link] as [string, unknown]]),
		];
	});
	return Object.fromEntries(entries);
}

/** Returns the links to an address, or to each in a list; undefined for anything else. */
function linked(value: unknown, linkOf: (address: string) => string): unknown {
	if (Array.isArray(value)) return value.map((one) => linked(one, linkOf) ?? null);
	return typeof value === 'string' && value.startsWith('rl://') ? linkOf(value) : undefined;
}
