/** Shorter beginnings are no nuisance. */
const longBeginning = 24;

/** How many characters all texts begin with, up to the last white space among them; 0 where that is not worth a word. */
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
	// The same prompt in every group: its beginning says it.
	if (texts.every((text) => text.length === common)) return 0;
	const cut = first.slice(0, common).search(/\s\S*$/) + 1;
	return cut < longBeginning ? 0 : cut;
}
