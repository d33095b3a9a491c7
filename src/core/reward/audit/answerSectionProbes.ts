import { candidates, wrongAnswer } from './candidates.ts';
import { idleThought } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const noAnswerTags = 'The template has no answer tags.';
const oneAnswer = 'Accept exactly one answer: several in one completion are worth nothing.';

/** Completions with several answer sections, so that whoever reads them cannot tell which is meant. */
export const answerSectionProbes: readonly Probe[] = [
	{
		id: 'many-answers',
		title: 'An answer section for each candidate',
		severity: 'high',
		attacks: 'content',
		why: 'The right answer is only one of several that are offered.',
		fix: `${oneAnswer} Count the answer tags before reading between them.`,
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			const sections = candidates(row, 4, 'middle').map((text) => `${open}${text}${close}`);
			return attempts(thought(row, tags.think) + sections.join(''), thought(row, tags.think) + sections.join('\n'));
		},
	},
	{
		id: 'two-answers-first-right',
		title: 'Two answer sections, the first one right',
		severity: 'medium',
		attacks: 'content',
		why: 'The completion takes its right answer back.',
		fix: `${oneAnswer} A search for the first answer section does not see the second one.`,
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			return attempts(`${thought(row, tags.think)}${open}${row.answer}${close}${open}${wrongAnswer(row)}${close}`);
		},
	},
	{
		id: 'two-answers-last-right',
		title: 'Two answer sections, the last one right',
		severity: 'medium',
		attacks: 'content',
		why: 'The completion gives a wrong answer as well, and its reader may take that one.',
		fix: `${oneAnswer} Do not take the last of several answer sections.`,
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			return attempts(`${thought(row, tags.think)}${open}${wrongAnswer(row)}${close}${open}${row.answer}${close}`);
		},
	},
	{
		id: 'nested-answers',
		title: 'Answer section inside an answer section',
		severity: 'medium',
		attacks: 'content',
		why: 'The outer answer holds a wrong one and the right one.',
		fix: 'Give nothing for an answer that holds another answer tag.',
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			const [wrong, right] = [wrongAnswer(row), row.answer];
			return attempts(
				`${thought(row, tags.think)}${open}${wrong}${open}${right}${close}${close}`,
				`${thought(row, tags.think)}${open}${right}${open}${wrong}${close}${close}`,
			);
		},
	},
	{
		id: 'unclosed-first-answer',
		title: 'Wrong answer in an unclosed section before the right one',
		severity: 'medium',
		attacks: 'content',
		why: 'Two answers are opened; which of them counts depends on the reader.',
		fix: 'Require as many closing as opening answer tags: one each.',
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			return attempts(`${thought(row, tags.think)}${open}${wrongAnswer(row)}\n${open}${row.answer}${close}`);
		},
	},
];

function thought(row: { readonly answer: string }, think: readonly [string, string] | null): string {
	return think === null ? '' : `${think[0]}${idleThought(row)}${think[1]}`;
}
