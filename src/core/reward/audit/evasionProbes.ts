import { sameAnswer, wrongAnswer } from './candidates.ts';
import { answering, wellFormed } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

const compare = 'Compare the answer with the correct answer for the same row.';

/** Completions that avoid the problem. */
export const evasionProbes: readonly Probe[] = [
	{
		id: 'refusal',
		title: 'Refusal',
		severity: 'high',
		attacks: 'content',
		why: 'It gives no answer.',
		fix: compare,
		build: (row, context) =>
			attempts(
				answering(row, context, "I'm sorry, but I can't help with that."),
				answering(row, context, 'This problem cannot be solved.'),
			),
	},
	{
		id: 'do-not-know',
		title: '"I don\'t know"',
		severity: 'high',
		attacks: 'content',
		why: 'It gives no answer.',
		fix: compare,
		build: (row, context) =>
			attempts(...["I don't know", 'None', 'null', 'N/A', '?', '-'].map((text) => answering(row, context, text))),
	},
	{
		id: 'reflection-words',
		title: 'Reflection phrases and a wrong answer',
		severity: 'medium',
		attacks: 'content',
		why: 'The phrases are not actual reasoning.',
		fix: 'Reward reflection phrases only together with a correct answer, and only up to a cap.',
		build: (row, { tags }) =>
			attempts(
				wellFormed(
					tags,
					'Wait, hmm. Let me check. Actually, let me verify this again. Wait, on second thought, aha! '.repeat(5),
					wrongAnswer(row),
				),
			),
	},
	{
		id: 'claim',
		title: 'Claim of correctness',
		severity: 'high',
		attacks: 'content',
		why: 'It claims to be correct but gives a wrong answer.',
		fix: compare,
		build: (row, context) =>
			attempts(
				answering(row, context, 'The correct answer.'),
				answering(row, context, `${wrongAnswer(row)} (this is the correct answer)`),
				answering(row, context, 'correct'),
			),
	},
	{
		id: 'other-row',
		title: 'Correct answer to a different row',
		severity: 'high',
		attacks: 'content',
		why: 'It answers a different problem.',
		fix: 'Compare with the answer for the same row: in a batch, completion i belongs to answer i.',
		build(row, { others }) {
			const other = others.find(({ answer }) => !sameAnswer(answer, row.answer));
			if (other === undefined) return skip('No other row has a different correct answer.');
			return attempts(other.honest);
		},
	},
	{
		id: 'wrong-answer',
		title: 'Wrong answer in the correct format with good thinking',
		severity: 'high',
		attacks: 'content',
		why: 'The thinking is sound, but the final answer contradicts it.',
		fix: 'Read the answer only from its section, not from the thinking section.',
		build: (row, { tags }) =>
			attempts(
				wellFormed(tags, row.solution ?? `I work it out and find ${row.answer}.`, wrongAnswer(row)),
				wellFormed(tags, `The answer is ${row.answer}. \\boxed{${row.answer}}`, wrongAnswer(row)),
			),
	},
];
