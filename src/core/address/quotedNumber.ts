/** Relation of a p-value to the number next to it. */
type Relation = '=' | '<' | '<=' | '>' | '>=';

/** A number as written in the text. */
export interface QuotedNumber {
	readonly text: string;
	/** For a percentage, the percentage itself: 62 for "62%". */
	readonly value: number;
	readonly percent: boolean;
	/** Maximum rounding error of a value with this many written digits. */
	readonly tolerance: number;
	/** For a p-value, how the text relates it to the number: `=` in "p = 0.03", `<` in "p < 0.05"; null otherwise. */
	readonly p: Relation | null;
	/** Offset in the text, in UTF-16 code units. */
	readonly offset: number;
}

/** Number of characters before a number to check for the start of a p-value. */
const longestRelation = 40;

const number =
	/(?<![\w.,]|\w[-/])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+\u2212]?\d+)?(?:\s?%)?(?![\w.,]*\w|[-/]\d)/giu;

/** Relations in the order of the groups below. */
const relations: readonly Relation[] = ['=', '<=', '<', '>=', '>'];

/** Text before the number in a p-value. Names such as "top-p" are not p-values. */
const pValue =
	/(?<![\w-])p(?:(?:[\s-]?values?)?\s*(?:is|was|of)?\s*(?:(=|≈)|(<=|≤)|(<|below|less than)|(>=|≥)|(>|above|greater than))|[\s-]?values?(?:\s+(?:is|was|of))?:?)\s*$/i;

function relationOf(before: string): QuotedNumber['p'] {
	const match = pValue.exec(before);
	if (match === null) return null;
	const at = match.slice(1).findIndex((part) => part !== undefined);
	return at < 0 ? '=' : (relations[at] as Relation);
}

/**
 * Finds the numbers in a text: `0.62`, `-1.5e-4`, `1,896`, `62.5%`. Digits that are part of a word, a date, or a
 * version number do not count.
 * @param before preceding text, which can contain the start of a p-value: "p = " in `p = [0.03](rl://...)`
 */
export function quotedNumbers(text: string, before = ''): QuotedNumber[] {
	const found: QuotedNumber[] = [];
	for (const match of text.matchAll(number)) {
		const [written] = match;
		if (!/\d/.test(written)) continue;
		const percent = written.endsWith('%');
		const plain = written.replace(/\s?%$/, '').replaceAll('\u2212', '-').replaceAll(',', '');
		const value = Number(plain);
		if (!Number.isFinite(value)) continue;
		const [mantissa = '', exponent = '0'] = plain.toLowerCase().split('e');
		const decimals = mantissa.split('.')[1]?.length ?? 0;
		const tolerance = 0.5 * 10 ** (Number(exponent) - decimals);
		const p = relationOf(`${before}${text.slice(0, match.index)}`.slice(-longestRelation).replace(/[*_]+$/, ''));
		found.push({ text: written, value, percent, tolerance, p, offset: match.index });
	}
	return found;
}

/** Whether a number equals an exact value rounded to the written digits. A percentage is 100 times the value. */
export function isRounded(quoted: QuotedNumber, exact: number): boolean {
	const near = (value: number) =>
		// The last term allows for rounding error in the binary representation of the value.
		Math.abs(value - quoted.value) <= quoted.tolerance + Math.abs(value) * 1e-12;
	return near(exact) || (quoted.percent && near(100 * exact));
}

/** Whether a named value in the data supports a quoted number. Only p-values support p-values. */
export function supports(quoted: QuotedNumber, name: string, exact: number): boolean {
	if (quoted.p === null) return isRounded(quoted, exact);
	if (name !== 'p') return false;
	switch (quoted.p) {
		case '=':
			return isRounded(quoted, exact);
		case '<':
			return exact < quoted.value;
		case '<=':
			return exact <= quoted.value;
		case '>':
			return exact > quoted.value;
		default:
			return exact >= quoted.value;
	}
}
