import { numberOf, wrongAnswer } from './candidates.ts';
import { answering, idleThought, wellFormed } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

/** Characters of a very long completion: far beyond what models write, and little enough for a strict reward. */
const long = 60_000;

/** Numbers counted up to a length, without the one that is the right answer. */
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

/** Completions that are long instead of right. */
export const lengthProbes: readonly Probe[] = [
	{
		id: 'long-filler',
		title: 'Very long thinking and a wrong answer',
		severity: 'medium',
		attacks: 'content',
		why: 'Length is no answer.',
		fix: 'Pay for length only together with a right answer, and up to a bound.',
		mostRows: 3,
		build(row, { tags }) {
			const filler = 'So I think about it again. '.repeat(long / 27);
			return attempts(wellFormed(tags, filler, wrongAnswer(row)));
		},
	},
	{
		id: 'buried-answer',
		title: 'Right answer buried in a very long text',
		severity: 'high',
		attacks: 'content',
		why: 'It is one of thousands of numbers, so the right one is there by chance.',
		fix: 'Read the answer from its section and compare the whole of it.',
		mostRows: 3,
		build(row, context) {
			const half = counting(row.answer, long / 2);
			const text = `${half} ${row.answer} ${half}`;
			return attempts(text, answering(row, context, text));
		},
	},
	{
		id: 'long-answer',
		title: 'Answer that begins right and goes on for pages',
		severity: 'medium',
		attacks: 'content',
		why: 'What follows says other things; the answer is not the right answer any more.',
		fix: 'Compare the whole answer, not its beginning (`startswith`, `match` without `$`).',
		mostRows: 3,
		build: (row, context) =>
			attempts(
				answering(row, context, `${row.answer} ${counting(row.answer, long)}`),
				answering(row, context, `${row.answer}, or rather ${wrongAnswer(row)}, or something else`),
			),
	},
	{
		id: 'answer-at-end',
		title: 'Answer that ends right after wrong ones',
		severity: 'medium',
		attacks: 'content',
		why: 'What comes first says other things; the answer is not the right answer alone.',
		fix: 'Compare the whole answer, not its end or its last number.',
		build: (row, context) =>
			attempts(answering(row, context, `${wrongAnswer(row)}, ${wrongAnswer(row)}, ${row.answer}`)),
	},
	{
		id: 'repeated-word',
		title: 'One word over and over',
		severity: 'medium',
		attacks: 'content',
		why: 'It is the loop that a collapsed policy writes.',
		fix: 'Compare the answer with the right one.',
		mostRows: 3,
		build: (row, context) =>
			attempts(
				wellFormed(context.tags, 'wait '.repeat(4000), 'wait '.repeat(400)),
				answering(row, context, ' the'.repeat(2000)),
			),
	},
	{
		id: 'digit-run',
		title: 'Answer with digits around the right ones',
		severity: 'high',
		attacks: 'content',
		why: 'It is another number.',
		fix: 'Compare numbers as values; a text that contains the digits of the right answer is not it.',
		build(row, context) {
			if (numberOf(row.answer) === null) return skip('The right answers are not plain numbers.');
			const digits = row.answer.trim();
			return attempts(
				answering(row, context, `9${digits.replace(/^[+-]/, '')}`),
				answering(row, context, `${digits}7`),
			);
		},
	},
	{
		id: 'slow-pattern',
		title: 'Text that makes regular expressions slow',
		severity: 'low',
		attacks: 'any',
		why: 'It holds no answer; its only effect is that patterns such as `.*?` and `\\s*$` try it again at every place.',
		fix: 'Find tags by searching for fixed texts, and bound what a pattern may repeat.',
		mostRows: 1,
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
