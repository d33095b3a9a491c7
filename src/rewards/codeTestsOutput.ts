/**
 * Whether a program wrote what was expected: the same lines, where white space at the end of lines and of the text does not
 * count; else the same words in the same order, where a decimal fraction of the expected text is met within
 * a millionth of it (of 0: within 1e-9).
 */
export function sameOutput(written: string, expected: string): boolean {
	const trimmed = (text: string) =>
		text
			.split('\n')
			.map((line) => line.trimEnd())
			.join('\n')
			.trimEnd();
	if (trimmed(written) === trimmed(expected)) return true;
	const words = (text: string) => text.split(/\s+/).filter((word) => word !== '');
	const [have, want] = [words(written), words(expected)];
	return have.length === want.length && want.every((word, i) => sameWord(have[i] as string, word));
}

const fraction = /^[+-]?\d+\.\d+$/;
const number = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function sameWord(written: string, expected: string): boolean {
	if (written === expected) return true;
	// Whole numbers are compared digit by digit.
	if (!fraction.test(expected) || !number.test(written)) return false;
	const [have, want] = [Number(written), Number(expected)];
	if (!Number.isFinite(have)) return false;
	return Math.abs(have - want) <= (want === 0 ? 1e-9 : 1e-6 * Math.abs(want));
}
