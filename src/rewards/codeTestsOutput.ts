import { type Tolerance, tolerances } from './codeTestsComparison.ts';

/**
 * Whether a program wrote what was expected: the same lines, where white space at the end of lines and of the text does not
 * count; else the same words in the same order, where a decimal fraction of the expected text is met within
 * the tolerance; without one, a number of the same value is the same.
 */
export function sameOutput(written: string, expected: string, tolerance: Tolerance = tolerances.other): boolean {
	const trimmed = (text: string) =>
		text
			.split('\n')
			.map((line) => line.trimEnd())
			.join('\n')
			.trimEnd();
	if (trimmed(written) === trimmed(expected)) return true;
	// Where benchmarks tolerate nothing, the ends of lines count as well.
	const parts = tolerance.relative === 0 ? /[^\S\n]+|(?=\n)|(?<=\n)/ : /\s+/;
	const words = (text: string) =>
		trimmed(text)
			.trimStart()
			.split(parts)
			.filter((word) => word !== '');
	const [have, want] = [words(written), words(expected)];
	return have.length === want.length && want.every((word, i) => sameWord(have[i] as string, word, tolerance));
}

/** A decimal fraction as programs write it: `0.5`, `4e-7`. */
const fraction = /^[+-]?(?:\d+\.\d+(?:e[+-]?\d+)?|\d+e-\d+)$/i;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function sameWord(written: string, expected: string, { relative, zero }: Tolerance): boolean {
	if (written === expected) return true;
	if (relative === 0) {
		return number.test(written) && number.test(expected) && canonical(written) === canonical(expected);
	}
	// Whole numbers are compared digit by digit.
	if (!fraction.test(expected) || !number.test(written)) return false;
	const [have, want] = [Number(written), Number(expected)];
	if (!Number.isFinite(have)) return false;
	return Math.abs(have - want) <= (want === 0 ? zero : relative * Math.abs(want));
}

/** One spelling for each value of a decimal number: its digits without zeros at their ends, and the place of the last. */
function canonical(text: string): string {
	const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
	const [whole = '', decimals = ''] = mantissa.replace(/^[+-]/, '').split('.');
	const digits = `${whole}${decimals}`.replace(/^0+/, '');
	const significant = digits.replace(/0+$/, '');
	if (significant === '') return '0';
	const place = BigInt(exponent) - BigInt(decimals.length) + BigInt(digits.length - significant.length);
	return `${text.startsWith('-') ? '-' : ''}${significant}e${place}`;
}
