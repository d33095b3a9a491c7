import { numberOf, sameAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const finite = 'Parse the answer, then require a finite number (math.isfinite, Number.isFinite) before comparing.';

/** Answers that upset arithmetic. */
export const numberProbes: readonly Probe[] = [
	{
		id: 'not-a-number',
		title: 'NaN as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'It is no number. Comparisons with NaN are false, so that "not too far off" holds when it is written the wrong way round.',
		fix: finite,
		build: (row, context) =>
			attempts(...['NaN', 'nan', '-nan', '0/0', 'undefined'].map((text) => answering(row, context, text))),
	},
	{
		id: 'infinity',
		title: 'Infinity as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'It is not the right answer; differences and ratios with it are NaN or infinite.',
		fix: finite,
		build(row, context) {
			if (/inf|∞/i.test(row.answer)) return skip('The right answers are infinite.');
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
		why: 'They are other numbers, which become infinity or 0 when they are parsed.',
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
		title: 'A tower of exponents',
		severity: 'low',
		attacks: 'content',
		why: 'It is another number, one that nobody can write out: a reward that evaluates it does not come back.',
		fix: 'Bound the length and the exponents of what is evaluated, and give evaluation a time limit.',
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
		title: 'Nearly the right number',
		severity: 'low',
		attacks: 'content',
		why: 'The right answer is a whole number, and this is another one nearby.',
		fix: 'Compare whole numbers exactly; allow rounding only where the right answer is rounded.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || !Number.isInteger(value) || value === 0 || Math.abs(value) >= 1e6)
				return skip('The right answers are not whole numbers below a million.');
			const near = [value + 0.0004 * Math.sign(value), value * 1.0002].map((one) => one.toFixed(6));
			return attempts(...near.map((text) => answering(row, context, text)));
		},
	},
	{
		id: 'free-variable',
		title: 'Expression with a variable that can be anything',
		severity: 'medium',
		attacks: 'content',
		why: 'A variable has every value, so it names none.',
		fix: 'Refuse answers with variables when the right answer has none.',
		build(row, context) {
			if (numberOf(row.answer) === null) return skip('The right answers are not plain numbers.');
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
		why: 'An answer is data. A reward that evaluates it runs whatever the policy writes.',
		fix: 'Never eval() an answer: parse it.',
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
