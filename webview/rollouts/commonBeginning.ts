/** Min length of a prefix worth hiding. */
const longBeginning = 24;

/** Length of the prefix that all texts share, up to its last white space; 0 if it is shorter than the min. */
export function commonBeginning(texts: readonly string[]): number {
	const [first, ...others] = texts;
	if (first === undefined || others.length === 0) return 0;
	let common = first.length;
	for (const text of others) {
		let same = 0;
		while (same < common && same < text.length && text.charCodeAt(same) === first.charCodeAt(same)) same++;
		common = same;
		if (common < longBeginning) return 0;
	}
	// All groups have the same prompt: keep it.
	if (texts.every((text) => text.length === common)) return 0;
	const cut = first.slice(0, common).search(/\s\S*$/) + 1;
	return cut < longBeginning ? 0 : cut;
}
