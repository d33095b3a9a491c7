/** Stop words. */
const stop = new Set(
	`a about above across after again all also although am among an and another any are around as at be because been before
	being between both but by can could did do does doing down during each either etc even ever every few for from further
	had has have having he her here hers him his how however i if in instead into is it its itself just least less like
	made make makes making many may me might more most much must my no nor not now of off on once one only onto or other
	our out over own per rather same she should since so some such than that the their them then there these they this
	those through thus to too toward towards under until up upon us use used uses using various very via was way we well
	were what when where whether which while who whose why will with within without would you your`
		.split(/\s+/)
		.filter((word) => word !== ''),
);

const word = /[\p{L}\p{N}]+(?:['’.][\p{L}\p{N}]+)*/gu;
const endings =
	/(?:izations?|isations?|ations?|ities|ments?|ings?|ness|ally|ions?|ized|ised|izes|ises|ize|ise|edly|ed|ies|ly|es|al|ity|s|e|y)$/;

/**
 * Returns the stem of a word, by stripping endings as long as at least four letters remain. Sufficient to match
 * "eliminating" with "eliminated".
 */
export function stem(text: string): string {
	const lower = text.toLowerCase().replace(/['’]s$/, '');
	const cut = lower.replace(endings, '');
	return cut.length >= 4 ? cut : lower;
}

/** Returns the stemmed content words in the text, without numbers. */
export function claimTerms(text: string): Set<string> {
	const terms = new Set<string>();
	for (const [found] of text.normalize('NFKC').matchAll(word)) {
		const lower = found.toLowerCase();
		if (stop.has(lower) || lower.length < 3 || /^[\d.]+$/.test(lower)) continue;
		terms.add(stem(found));
	}
	return terms;
}

/** Returns the normalized numbers in the text: "40%", "1,024" and "16.4B" become 40, 1024 and 16.4; "V3" has none. */
export function claimNumbers(text: string): Set<string> {
	const numbers = new Set<string>();
	for (const [, found = ''] of text.matchAll(
		/(?<![\p{L}\p{N}.,-])(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?![\p{N}])/gu,
	)) {
		numbers.add(String(Number(found.replaceAll(',', ''))));
	}
	return numbers;
}
