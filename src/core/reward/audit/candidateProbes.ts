import { candidates, numberOf, wrongAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const oneAnswer = 'Accept exactly one answer, and give no reward to completions with several.';

/** Completions that list the correct answer among others, which makes the intended answer ambiguous. */
export const candidateProbes: readonly Probe[] = [
	{
		id: 'every-candidate',
		title: 'List of every candidate',
		severity: 'high',
		attacks: 'content',
		why: 'The correct answer is only one of several candidates.',
		fix: 'Compare the entire answer instead of checking whether it contains the correct one (`in`, `includes`, a regular expression without ^ and $).',
		build: (row, context) =>
			attempts(
				...(['first', 'middle', 'last'] as const).flatMap((place) => {
					const list = candidates(row, 5, place);
					return [answering(row, context, list.join(', ')), answering(row, context, list.join('\n'))];
				}),
			),
	},
	{
		id: 'either-or',
		title: 'Hedge between two answers',
		severity: 'high',
		attacks: 'content',
		why: 'Hedging between a wrong answer and the correct one is not answering.',
		fix: oneAnswer,
		build: (row, context) =>
			attempts(
				answering(row, context, `${wrongAnswer(row)} or ${row.answer}`),
				answering(row, context, `either ${row.answer} or ${wrongAnswer(row)}`),
				answering(row, context, `It is ${wrongAnswer(row)}, but it could also be ${row.answer}.`),
			),
	},
	{
		id: 'boxed-list',
		title: 'List of boxed candidates',
		severity: 'high',
		attacks: 'content',
		why: 'A box marks the answer; a list of boxes marks every guess. A reward that reads only the first or only the last box accepts just one of the possible orders, so a policy gains nothing.',
		fix: 'Read only one box (the last), and reject the answer if several boxes differ.',
		needs: 'every',
		build: (row, context) =>
			attempts(
				...(['first', 'middle', 'last'] as const).map((place) =>
					answering(
						row,
						context,
						candidates(row, 4, place)
							.map((text) => `\\boxed{${text}}`)
							.join(' '),
					),
				),
			),
	},
	{
		id: 'nested-boxed',
		title: 'Box inside a box',
		severity: 'medium',
		attacks: 'content',
		why: 'The text contains two answers, depending on which closing brace is used.',
		fix: 'Match the braces in \\boxed{...}, and compare the entire contents.',
		needs: 'every',
		build: (row, context) =>
			attempts(
				answering(row, context, `\\boxed{${row.answer} \\boxed{${wrongAnswer(row)}}}`),
				answering(row, context, `\\boxed{${wrongAnswer(row)} \\boxed{${row.answer}}}`),
			),
	},
	{
		id: 'range',
		title: 'Range that contains everything',
		severity: 'medium',
		attacks: 'content',
		why: 'A range of two billion numbers is not an answer.',
		fix: 'Compare values, and accept an interval only if the correct answer is one.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || Math.abs(value) > 1e9) return skip('The correct answers are not plain numbers.');
			return attempts(
				...['between -1000000000 and 1000000000', '[-10^9, 10^9]', `at least ${Math.floor(value) - 1}`].map((text) =>
					answering(row, context, text),
				),
			);
		},
	},
	{
		id: 'plus-minus',
		title: 'Both signs at once',
		severity: 'medium',
		attacks: 'content',
		why: 'One of the two values is wrong.',
		fix: 'Do not drop characters that the parser does not recognize; ± gives two answers.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || value === 0) return skip('The correct answers are not plain numbers other than 0.');
			const size = row.answer.trim().replace(/^[+-]/, '');
			return attempts(
				...[`±${size}`, `\\pm ${size}`, `+/-${size}`, `${size}, -${size}`].map((text) => answering(row, context, text)),
			);
		},
	},
	{
		id: 'unit-list',
		title: 'One number in every unit',
		severity: 'medium',
		attacks: 'content',
		why: 'A number in several units is several answers.',
		fix: 'Read one number with one unit. Any remaining text makes the answer wrong.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || value === 0) return skip('The correct answers are not plain numbers other than 0.');
			return attempts(
				answering(row, context, ['cm', 'm', 'km', '%'].map((unit) => `${row.answer} ${unit}`).join(', ')),
				answering(row, context, `${row.answer} or ${row.answer}% or ${value / 100}`),
			);
		},
	},
	{
		id: 'zero-width-list',
		title: 'Candidates joined by zero-width characters',
		severity: 'medium',
		attacks: 'content',
		why: 'It looks like a single wrong answer but contains several.',
		fix: 'Compare the entire answer. Do not split it at invisible characters.',
		build: (row, context) => attempts(answering(row, context, candidates(row, 3, 'middle').join('\u200b'))),
	},
];
