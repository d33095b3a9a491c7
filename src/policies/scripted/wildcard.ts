/**
 * Matches a pattern against the whole text. Returns the shortest match for each `*`, or null if there is no match. Each
 * `*` takes time linear in the length of the text.
 */
export function matchWildcard(pattern: string, text: string): string[] | null {
	const parts = pattern.split('*');
	const first = parts[0] as string;
	if (parts.length === 1) return pattern === text ? [] : null;
	const last = parts.at(-1) as string;
	if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length) return null;
	const end = text.length - last.length;
	const found: string[] = [];
	let at = first.length;
	for (const part of parts.slice(1, -1)) {
		const next = text.indexOf(part, at);
		if (next < 0 || next + part.length > end) return null;
		found.push(text.slice(at, next));
		at = next + part.length;
	}
	found.push(text.slice(at, end));
	return found;
}
