import { type Tolerance, tolerances } from './codeTestsComparison.ts';

/**
 * Returns whether a program produced the expected output: either the same lines, ignoring trailing whitespace on each
 * line and at the end of the text, or the same words in the same order. When words are compared, decimals in the
 * expected text must match within the tolerance, or be numerically equal if there is no tolerance.
 */
export function sameOutput(written: string, expected: string, tolerance: Tolerance = tolerances.other): boolean {
	const trimmed = (text: string) =>
		text
			.split('\n')
			.map((line) => line.trimEnd())
			.join('\n')
			.trimEnd();
	if (trimmed(written) === trimmed(expected)) return true;
	// If a benchmark allows no tolerance, line breaks must also match.
	const parts = tolerance.relative === 0 ? /[^\S\n]+|(?=\n)|(?<=\n)/ : /\s+/;
	const words = (text: string) =>
		trimmed(text)
			.trimStart()
			.split(parts)
			.filter((word) => word !== '');
	const [have, want] = [words(written), words(expected)];
	return have.length === want.length && want.every((word, i) => sameWord(have[i] as string, word, tolerance));
}

/** A decimal as written by programs: `0.5`, `4e-7`. */
const fraction = /^[+-]?(?:\d+\.\d+(?:e[+-]?\d+)?|\d+e-\d+)$/i;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function sameWord(written: string, expected: string, { relative, zero }: Tolerance): boolean {
	if (written === expected) return true;
	if (relative === 0) {
		return number.test(written) && number.test(expected) && canonical(written) === canonical(expected);
	}
	// Integers are compared digit by digit.
	if (!fraction.test(expected) || !number.test(written)) return false;
	const [have, want] = [Number(written), Number(expected)];
	if (!Number.isFinite(have)) return false;
	return Math.abs(have - want) <= (want === 0 ? zero : relative * Math.abs(want));
}

/**
 * Returns a canonical form of a decimal number: its digits without leading or trailing zeros, and the position of the
 * last digit.
 */
function canonical(text: string): string {
	const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
	const [whole = '', decimals = ''] = mantissa.replace(/^[+-]/, '').split('.');
	const digits = `${whole}${decimals}`.replace(/^0+/, '');
	const significant = digits.replace(/0+$/, '');
	if (significant === '') return '0';
	const place = BigInt(exponent) - BigInt(decimals.length) + BigInt(digits.length - significant.length);
	return `${text.startsWith('-') ? '-' : ''}${significant}e${place}`;
}
