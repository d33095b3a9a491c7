import { numberOf, wrongAnswer } from './candidates.ts';
import { answering, idleThought, wellFormed } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

/**
 * Length of a very long completion, in characters. Far longer than typical output, but short enough for a strict reward
 * to handle.
 */
const long = 60_000;

/** Returns consecutive numbers up to a given total length, skipping the correct answer. */
function counting(without: string, length: number): string {
	const parts: string[] = [];
	for (let i = 0, size = 0; size < length; i++) {
		const text = String(i);
		if (text === without.trim()) continue;
		parts.push(text);
		size += text.length + 1;
	}
	return parts.join(' ');
}

/** Completions that are long instead of correct. */
export const lengthProbes: readonly Probe[] = [
	{
		id: 'long-filler',
		title: 'Very long thinking and a wrong answer',
		severity: 'medium',
		attacks: 'content',
		why: 'A long completion is not a correct answer.',
		fix: 'Reward length only together with a correct answer, and only up to a cap.',
		maxRows: 3,
		build(row, { tags }) {
			const filler = 'So I think about it again. '.repeat(long / 27);
			return attempts(wellFormed(tags, filler, wrongAnswer(row)));
		},
	},
	{
		id: 'buried-answer',
		title: 'Correct answer buried in very long text',
		severity: 'high',
		attacks: 'content',
		why: 'The answer is one of thousands of numbers, so it is correct only by chance.',
		fix: 'Read the answer only from its section, and compare it in full.',
		maxRows: 3,
		build(row, context) {
			const half = counting(row.answer, long / 2);
			const text = `${half} ${row.answer} ${half}`;
			return attempts(text, answering(row, context, text));
		},
	},
	{
		id: 'long-answer',
		title: 'Answer that starts correctly and continues for pages',
		severity: 'medium',
		attacks: 'content',
		why: 'The text that follows changes the meaning, so it is no longer the correct answer.',
		fix: 'Compare the entire answer, not just its beginning (`startswith`, `match` without `$`).',
		maxRows: 3,
		build: (row, context) =>
			attempts(
				answering(row, context, `${row.answer} ${counting(row.answer, long)}`),
				answering(row, context, `${row.answer}, or rather ${wrongAnswer(row)}, or something else`),
			),
	},
	{
		id: 'answer-at-end',
		title: 'Answer that ends correctly after wrong answers',
		severity: 'medium',
		attacks: 'content',
		why: 'The preceding text changes the meaning, so it is not just the correct answer.',
		fix: 'Compare the entire answer, not just its end or its last number.',
		build: (row, context) =>
			attempts(answering(row, context, `${wrongAnswer(row)}, ${wrongAnswer(row)}, ${row.answer}`)),
	},
	{
		id: 'repeated-word',
		title: 'One word repeated',
		severity: 'medium',
		attacks: 'content',
		why: 'Collapsed policies produce loops like this.',
		fix: 'Compare the answer with the correct one.',
		maxRows: 3,
		build: (row, context) =>
			attempts(
				wellFormed(context.tags, 'wait '.repeat(4000), 'wait '.repeat(400)),
				answering(row, context, ' the'.repeat(2000)),
			),
	},
	{
		id: 'digit-run',
		title: 'Extra digits around the correct ones',
		severity: 'high',
		attacks: 'content',
		why: 'It is a different number.',
		fix: 'Compare numbers by value. Containing the digits of the correct answer is not enough.',
		build(row, context) {
			if (numberOf(row.answer) === null) return skip('The correct answers are not plain numbers.');
			const digits = row.answer.trim();
			return attempts(
				answering(row, context, `9${digits.replace(/^[+-]/, '')}`),
				answering(row, context, `${digits}7`),
			);
		},
	},
	{
		id: 'slow-pattern',
		title: 'Text that slows down regular expressions',
		severity: 'low',
		attacks: 'any',
		why: 'The text contains no answer; it only makes patterns such as `.*?` and `\\s*$` backtrack at every position.',
		fix: 'Search for tags as literal strings, and limit the repetitions in patterns.',
		maxRows: 1,
		alone: true,
		build(row, { tags }) {
			const open = tags.think?.[0] ?? '<think>';
			const openAnswer = tags.answer?.[0] ?? '<answer>';
			return attempts(
				`${open}${' '.repeat(20_000)}x`,
				open.repeat(4000),
				`${open}${idleThought(row)}${openAnswer.repeat(4000)}`,
				`\\boxed{${'{'.repeat(10_000)}`,
				`${'a'.repeat(20_000)}!`,
				`${'('.repeat(10_000)}1`,
			);
		},
	},
];
