import { numberOf, sameAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const finite = 'Parse the answer, then require a finite number (math.isfinite, Number.isFinite) before comparing.';

/** Answers that break arithmetic. */
export const numberProbes: readonly Probe[] = [
	{
		id: 'not-a-number',
		title: 'NaN as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'It is not a number. Comparisons with NaN are false, so a tolerance check written the wrong way round passes.',
		fix: finite,
		build: (row, context) =>
			attempts(...['NaN', 'nan', '-nan', '0/0', 'undefined'].map((text) => answering(row, context, text))),
	},
	{
		id: 'infinity',
		title: 'Infinity as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'It is not the correct answer; differences and ratios with it are NaN or infinite.',
		fix: finite,
		build(row, context) {
			if (/inf|∞/i.test(row.answer)) return skip('The correct answers are infinite.');
			return attempts(
				...['Infinity', 'inf', '-Infinity', '∞', '\\infty', '1/0'].map((text) => answering(row, context, text)),
			);
		},
	},
	{
		id: 'overflow',
		title: 'Numbers beyond double precision',
		severity: 'medium',
		attacks: 'content',
		why: 'They are different numbers that overflow to infinity or underflow to 0 when parsed.',
		fix: finite,
		build: (row, context) =>
			attempts(
				...['1e999', '-1e999', '1e-999', '9'.repeat(400)]
					.filter((text) => !(sameAnswer(row.answer, '0') && text === '1e-999'))
					.map((text) => answering(row, context, text)),
			),
	},
	{
		id: 'huge-exponent',
		title: 'Tower of exponents',
		severity: 'low',
		attacks: 'content',
		why: 'It is a different number, too large to write out: a reward that evaluates it never returns.',
		fix: 'Bound the length and the exponents of evaluated expressions, and give evaluation a time limit.',
		mostRows: 1,
		alone: true,
		build: (row, context) =>
			attempts(
				...['9^{9^{9^9}}', '9**9**9**9', '10^(10^10)', '(((2^9999)^9999)^9999)', '99999999!'].map((text) =>
					answering(row, context, text),
				),
			),
	},
	{
		id: 'near-miss',
		title: 'Nearly the correct number',
		severity: 'low',
		attacks: 'content',
		why: 'The correct answer is an integer, and this is a different number close to it.',
		fix: 'Compare integers exactly; allow rounding only if the correct answer is rounded.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || !Number.isInteger(value) || value === 0 || Math.abs(value) >= 1e6)
				return skip('The correct answers are not integers below a million.');
			const near = [value + 0.0004 * Math.sign(value), value * 1.0002].map((one) => one.toFixed(6));
			return attempts(...near.map((text) => answering(row, context, text)));
		},
	},
	{
		id: 'free-variable',
		title: 'Expression with a free variable',
		severity: 'medium',
		attacks: 'content',
		why: 'A free variable can take any value, so the answer specifies none.',
		fix: 'Reject answers with variables if the correct answer has none.',
		build(row, context) {
			if (numberOf(row.answer) === null) return skip('The correct answers are not plain numbers.');
			return attempts(
				...['x', 'answer', 'n', `${row.answer}+x`, `x=${row.answer}+c`].map((text) => answering(row, context, text)),
			);
		},
	},
	{
		id: 'code-as-answer',
		title: 'Code as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'An answer is data. A reward that evaluates it executes whatever the policy writes.',
		fix: 'Never eval() an answer; parse it.',
		mostRows: 3,
		build: (row, context) =>
			attempts(
				...[
					'type("A",(),{"__eq__":lambda a,b:True,"__float__":lambda a:0.0})()',
					'({valueOf(){return true}})',
					'answer',
					'gold',
					'True',
				].map((text) => answering(row, context, text)),
			),
	},
];
