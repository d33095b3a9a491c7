import { candidates, wrongAnswer } from './candidates.ts';
import { idleThought } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const noAnswerTags = 'The template has no answer tags.';
const oneAnswer = 'Accept exactly one answer, and give no reward to completions with several.';

/** Completions with several answer sections, which make the intended answer ambiguous. */
export const answerSectionProbes: readonly Probe[] = [
	{
		id: 'many-answers',
		title: 'One answer section per candidate',
		severity: 'high',
		attacks: 'content',
		why: 'The correct answer is only one of several candidates.',
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
		title: 'Two answer sections, first one correct',
		severity: 'medium',
		attacks: 'content',
		why: 'The completion retracts its correct answer.',
		fix: `${oneAnswer} Searching only for the first answer section misses the second one.`,
		build(row, { tags }) {
			if (!tags.answer) return skip(noAnswerTags);
			const [open, close] = tags.answer;
			return attempts(`${thought(row, tags.think)}${open}${row.answer}${close}${open}${wrongAnswer(row)}${close}`);
		},
	},
	{
		id: 'two-answers-last-right',
		title: 'Two answer sections, last one correct',
		severity: 'medium',
		attacks: 'content',
		why: 'The completion also contains a wrong answer, which could be mistaken for the final one.',
		fix: `${oneAnswer} Do not use the last of several answer sections.`,
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
		why: 'The outer answer contains both a wrong answer and the correct one.',
		fix: 'Give no reward to an answer that contains another answer tag.',
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
		title: 'Wrong answer in an unclosed section before the correct one',
		severity: 'medium',
		attacks: 'content',
		why: 'Two answer sections are opened, and which one counts depends on the parser.',
		fix: 'Require exactly one opening and one closing answer tag.',
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
