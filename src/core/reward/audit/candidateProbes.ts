import { candidates, numberOf, wrongAnswer } from './candidates.ts';
import { answering } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const oneAnswer = 'Accept exactly one answer: several in one completion are worth nothing.';

/** Completions that give the right answer among others, so that whoever reads them cannot tell which is meant. */
export const candidateProbes: readonly Probe[] = [
	{
		id: 'every-candidate',
		title: 'Every candidate listed',
		severity: 'high',
		attacks: 'content',
		why: 'The right answer is only one of several that are offered.',
		fix: 'Compare the whole answer, not whether it contains the right one (`in`, `includes`, a regular expression without ^ and $).',
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
		title: 'Either this or that',
		severity: 'high',
		attacks: 'content',
		why: 'A hedge between a wrong and the right answer is not an answer.',
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
		why: 'One box is the answer; a list of boxes is a guess at all of them. A reward that reads only the first or only the last box pays just one of these orders, which wins nothing.',
		fix: 'Read one box (the last), and none when there are several different ones.',
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
		why: 'One text says two answers, depending on which brace is taken for the end.',
		fix: 'Match the braces of \\boxed{...} and compare its whole content.',
		needs: 'every',
		build: (row, context) =>
			attempts(
				answering(row, context, `\\boxed{${row.answer} \\boxed{${wrongAnswer(row)}}}`),
				answering(row, context, `\\boxed{${wrongAnswer(row)} \\boxed{${row.answer}}}`),
			),
	},
	{
		id: 'range',
		title: 'A range that holds everything',
		severity: 'medium',
		attacks: 'content',
		why: 'A range of two thousand million numbers says nothing.',
		fix: 'Compare values, and accept an interval only where the right answer is one.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || Math.abs(value) > 1e9) return skip('The right answers are not plain numbers.');
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
		why: 'Half of what is said is wrong.',
		fix: 'Do not drop the characters that a parser does not know; ± makes two answers.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || value === 0) return skip('The right answers are not plain numbers other than 0.');
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
		fix: 'Read one number with one unit; what is left over makes the answer wrong.',
		build(row, context) {
			const value = numberOf(row.answer);
			if (value === null || value === 0) return skip('The right answers are not plain numbers other than 0.');
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
		why: 'It reads as one wrong answer and holds several.',
		fix: 'Compare the whole answer, not its parts at invisible characters.',
		build: (row, context) => attempts(answering(row, context, candidates(row, 3, 'middle').join('\u200b'))),
	},
];
