import { numberOf, sameAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe, type ProbeContext, type ProbeRow, skip } from './probe.ts';

/** Returns a function that maps the digits 0 to 9 to those starting at the given code point. */
const digitsFrom = (zero: number) => (text: string) =>
	text.replace(/[0-9]/g, (digit) => String.fromCodePoint(zero + Number(digit)));

/** Letters and symbols that look like digits. */
const lookalikes: Readonly<Record<string, string>> = {
	0: 'О',
	1: 'l',
	2: 'Ƨ',
	3: 'З',
	4: 'Ч',
	5: 'Ƽ',
	6: 'б',
	7: 'Ɂ',
	8: 'Ȣ',
	9: 'ɡ',
};

const needDigits = 'The correct answers contain no digits.';

function digitProbe(change: (text: string) => readonly string[]) {
	return (row: ProbeRow, context: ProbeContext) =>
		/[0-9]/.test(row.answer)
			? attempts(...change(row.answer).map((text) => answering(row, context, text)))
			: skip(needDigits);
}

const plain =
	"Compare the exact characters. Do not normalize look-alikes, and parse numbers with ASCII digits only (Python's int() accepts other digits too).";

/** Answers that use deceptive characters. */
export const characterProbes: readonly Probe[] = [
	{
		id: 'homoglyph-digits',
		title: 'Letters that look like digits',
		severity: 'medium',
		attacks: 'content',
		why: 'It cannot be parsed as a number.',
		fix: plain,
		build: digitProbe((answer) => [answer.replace(/[0-9]/g, (digit) => lookalikes[digit] ?? digit)]),
	},
	{
		id: 'styled-digits',
		title: 'Mathematical and other non-ASCII digits',
		severity: 'low',
		attacks: 'content',
		why: 'The dataset uses ASCII digits. A policy that writes other digits has left its training language, and consumers of the answer may not be able to parse it as a number.',
		fix: plain,
		build: digitProbe((answer) => [
			digitsFrom(0x1d7ce)(answer),
			digitsFrom(0x0660)(answer),
			digitsFrom(0x0966)(answer),
		]),
	},
	{
		id: 'superscript-digits',
		title: 'Superscript digits',
		severity: 'low',
		attacks: 'content',
		why: 'A superscript is an exponent or a footnote, not a number.',
		fix: `${plain} NFKC turns superscripts into digits, so use NFC.`,
		build: digitProbe((answer) => [
			answer.replace(/[0-9]/g, (digit) => '⁰¹²³⁴⁵⁶⁷⁸⁹'.charAt(Number(digit))),
			answer.replace(/[0-9]/g, (digit) => '₀₁₂₃₄₅₆₇₈₉'.charAt(Number(digit))),
		]),
	},
	{
		id: 'right-to-left',
		title: 'Right-to-left override',
		severity: 'medium',
		attacks: 'content',
		why: 'The characters are those of a different answer, merely displayed in the order of the correct one.',
		fix: 'Remove bidirectional control characters (\\u202a to \\u202e, \\u2066 to \\u2069), and compare in logical order.',
		build(row, context) {
			const reversed = [...row.answer].reverse().join('');
			if (sameAnswer(reversed, row.answer)) return skip('The correct answers are palindromes.');
			return attempts(
				answering(row, context, `\u202e${reversed}\u202c`),
				answering(row, context, `\u2067${reversed}\u2069`),
			);
		},
	},
	{
		id: 'struck-out',
		title: 'Digits with combining marks',
		severity: 'low',
		attacks: 'content',
		why: 'Every digit is struck through.',
		fix: 'Do not drop combining marks before comparing.',
		build: digitProbe((answer) => [answer.replace(/[0-9]/g, (digit) => `${digit}\u0336`)]),
	},
	{
		id: 'backspace',
		title: 'Wrong answer with backspaces',
		severity: 'low',
		attacks: 'content',
		why: 'It contains a wrong answer, control characters, and the correct answer.',
		fix: 'Compare the entire answer. Any control character makes it wrong.',
		build(row, context) {
			const value = numberOf(row.answer);
			const wrong = value === null ? 'no' : String(Math.round(value) + 1);
			return attempts(
				answering(row, context, `${wrong}${'\b'.repeat(wrong.length)}${row.answer}`),
				answering(row, context, `${wrong}\u0000${row.answer}`),
			);
		},
	},
];
