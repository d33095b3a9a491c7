/**
 * Returns the top-level keys of the first JSON object in a string, which can be truncated at any point inside the
 * object. Identifies the type of a file from its first line, however long that line is. Nested keys are not included.
 */
export function topKeys(text: string): ReadonlySet<string> {
	const keys = new Set<string>();
	let depth = 0;
	let at = text.search(/\S/);
	if (at < 0 || text[at] !== '{') return keys;
	for (; at < text.length; at++) {
		const mark = text[at];
		if (mark === '{' || mark === '[') depth++;
		else if (mark === '}' || mark === ']') {
			depth--;
			if (depth <= 0) break;
		} else if (mark === '"') {
			const end = stringEnd(text, at);
			if (end < 0) break;
			if (depth === 1 && /^\s*:/.test(text.slice(end + 1, end + 20))) {
				const key = text.slice(at + 1, end);
				if (key.length <= 200) keys.add(key);
			}
			at = end;
		}
	}
	return keys;
}

function stringEnd(text: string, start: number): number {
	for (let at = start + 1; at < text.length; at++) {
		if (text[at] === '\\') at++;
		else if (text[at] === '"') return at;
	}
	return -1;
}
