/** Minimum length of a common prefix to hide. */
const minPrefix = 24;

/**
 * Returns the length of the common prefix of all strings, up to its last whitespace; 0 if it is shorter than the
 * minimum.
 */
export function commonPrefix(texts: readonly string[]): number {
	const [first, ...others] = texts;
	if (first === undefined || others.length === 0) return 0;
	let common = first.length;
	for (const text of others) {
		let same = 0;
		while (same < common && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++;
		common = same;
		if (common < minPrefix) return 0;
	}
	// If all groups have the same prompt, it is not hidden.
	if (texts.every((text) => text.length === common)) return 0;
	const cut = first.slice(0, common).search(/\s\S*$/) + 1;
	return cut < minPrefix ? 0 : cut;
}
