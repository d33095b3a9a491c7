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
		why: 'It is not a number. Comparisons with NaN are false, so a tolerance check that only rejects large differences accepts it.',
		fix: finite,
		build: (row, context) =>
			attempts(...['NaN', 'nan', '-nan', '0/0', 'undefined'].map((text) => answering(row, context, text))),
	},
	{
		id: 'infinity',
		title: 'Infinity as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'Infinity is not the correct answer. Differences and ratios that involve it are NaN or infinite.',
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
		why: 'These are different numbers that overflow to infinity or underflow to 0 when parsed.',
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
		title: 'Power tower',
		severity: 'low',
		attacks: 'content',
		why: 'This is a different number, too large to write out. A reward that evaluates it never returns.',
		fix: 'Limit the length and the exponents of expressions before evaluating them, and set a time limit for evaluation.',
		maxRows: 1,
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
		title: 'Almost the correct number',
		severity: 'low',
		attacks: 'content',
		why: 'The correct answer is an integer; this is a different number close to it.',
		fix: 'Compare integers exactly. Allow rounding only if the correct answer is rounded.',
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
		why: 'A free variable can have any value, so the answer does not specify one.',
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
		why: 'An answer is data. A reward that evaluates it would execute anything the policy writes.',
		fix: 'Never call eval() on an answer. Parse it.',
		maxRows: 3,
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
