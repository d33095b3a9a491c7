import { answering, idleThought, wellFormed, workedThought } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

/** Completions that lack a required part. */
export const emptyProbes: readonly Probe[] = [
	{
		id: 'empty',
		title: 'Empty completion',
		severity: 'high',
		attacks: 'any',
		why: 'It contains neither thinking nor an answer.',
		fix: 'Return 0 (or less) if the completion has no answer. Compare extracted text only after checking that an answer was found.',
		build: () => attempts(''),
	},
	{
		id: 'blank',
		title: 'Whitespace only',
		severity: 'high',
		attacks: 'any',
		why: 'It contains neither thinking nor an answer.',
		fix: 'Trim the completion before checking whether it is empty.',
		build: () => attempts(' ', '\n\n\t \n', '\u00a0\u3000\u2003'),
	},
	{
		id: 'blank-answer',
		title: 'Whitespace as the answer',
		severity: 'high',
		attacks: 'any',
		why: 'The answer section exists but is empty.',
		fix: 'Trim the extracted answer, and treat an empty answer as missing.',
		build: (row, context) => attempts(...['', ' ', ' \n\t '].map((answer) => answering(row, context, answer))),
	},
	{
		id: 'invisible-answer',
		title: 'Answer made of invisible characters',
		severity: 'medium',
		attacks: 'any',
		why: 'Zero-width characters are invisible, so the answer appears empty.',
		fix: 'Remove zero-width characters (\\u200b to \\u200f, \\u2060, \\ufeff) before checking whether the answer is empty.',
		build: (row, context) => attempts(answering(row, context, '\u200b\u200c\u2060'), answering(row, context, '\u200b')),
	},
	{
		id: 'no-answer',
		title: 'Thinking without an answer',
		severity: 'high',
		attacks: 'any',
		why: 'The completion never answers.',
		fix: 'Require the answer section. Do not search the entire completion for the answer.',
		build(row, { tags }) {
			if (!tags.think || !tags.answer) return skip('The template has no separate sections for thinking and answer.');
			const [open, close] = tags.think;
			return attempts(`${open}${idleThought(row)}${close}`, `${open}${workedThought(row)}${close}`);
		},
	},
	{
		id: 'answer-only-in-thinking',
		title: 'Correct answer only in the thinking section',
		severity: 'high',
		attacks: 'any',
		why: 'Thinking is not answering: the answer section is empty, so users would get nothing.',
		fix: 'Read the answer only from the answer section, and treat an empty one as missing.',
		build(row, { tags }) {
			if (!tags.think) return skip('The template has no think tags.');
			const thinking = `${workedThought(row)} The answer is ${row.answer}.`;
			return attempts(wellFormed(tags, thinking, ''), wellFormed(tags, thinking, ' '));
		},
	},
	{
		id: 'all-tags-no-text',
		title: 'Tags without text',
		severity: 'medium',
		attacks: 'any',
		why: 'Tags alone are not a completion: they contain neither thinking nor an answer.',
		fix: 'Require text inside the answer tags, not just the tags.',
		build(_row, { tags }) {
			if (!tags.think && !tags.answer) return skip('The template has no tags.');
			return attempts(wellFormed(tags, '', ''));
		},
	},
];
