/** A number as written in the text. */
export interface QuotedNumber {
	readonly text: string;
	/** For a percentage, the percentage itself: 62 for "62%". */
	readonly value: number;
	readonly percent: boolean;
	/** Maximum difference from the exact value that rounding to the written digits can cause. */
	readonly tolerance: number;
	/** Offset in the text, in UTF-16 code units. */
	readonly offset: number;
}

const number =
	/(?<![\w.,]|\w[-/])[-+\u2212]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:e[-+\u2212]?\d+)?(?:\s?%)?(?![\w.,]*\w|[-/]\d)/giu;

/** Finds the numbers in a text: `0.62`, `-1.5e-4`, `1,896`, `62.5%`. Digits that are part of a word,
 * a date, or a version number do not count. */
export function quotedNumbers(text: string): QuotedNumber[] {
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
		found.push({ text: written, value, percent, tolerance, offset: match.index });
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
