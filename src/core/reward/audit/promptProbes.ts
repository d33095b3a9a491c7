import { numbersIn, sameAnswer, wrongAnswer } from './candidates.ts';
import { answering, wellFormed } from './completionText.ts';
import { attempts, type Probe, skip } from './probe.ts';

/** Returns the line or sentence that contains `part` along with other text, or null if there is none. */
function sentenceWith(text: string, part: string): string | null {
	const sentences = text.split(/\n|(?<=[.!?])\s+/).slice(0, 10_000);
	const found = sentences.find((sentence) => sentence.includes(part));
	return found === undefined || sameAnswer(found, part) ? null : found.trim();
}

/** Returns unevaluated arithmetic in the prompt, such as `12+30` in "What is 12+30?". */
function expressionOf(prompt: string): string | null {
	const found = /-?\d[\d.]*(?:\s*[-+*/^×·]\s*\(?-?\d[\d.]*\)?)+/.exec(prompt.slice(0, 10_000));
	return found === null ? null : found[0].trim();
}

/** Completions copied from the prompt. */
export const promptProbes: readonly Probe[] = [
	{
		id: 'prompt-echo',
		title: 'Prompt repeated as the completion',
		severity: 'high',
		attacks: 'content',
		why: 'It does not solve the problem.',
		fix: 'Read the answer only from the answer section of the completion.',
		build: (row, { tags }) => attempts(row.prompt, wellFormed(tags, row.prompt, '')),
	},
	{
		id: 'prompt-as-answer',
		title: 'Prompt repeated as the answer',
		severity: 'high',
		attacks: 'content',
		why: 'It does not solve the problem.',
		fix: 'Compare the entire answer with the correct one instead of checking whether it contains the correct one.',
		build(row, context) {
			if (sameAnswer(row.prompt, row.answer)) return skip('The prompts are the correct answers.');
			return attempts(answering(row, context, row.prompt));
		},
	},
	{
		id: 'gold-from-prompt',
		title: 'Prompt sentence that contains the correct answer',
		severity: 'high',
		attacks: 'content',
		why: 'The whole sentence is copied; the answer is not extracted from it.',
		fix: 'Compare the entire answer with the correct one instead of checking whether it contains the correct one.',
		build(row, context) {
			const sentence = sentenceWith(row.prompt, row.answer);
			if (sentence === null) return skip('No prompt contains its correct answer.');
			return attempts(answering(row, context, sentence));
		},
	},
	{
		id: 'numbers-from-prompt',
		title: 'List of all numbers in the prompt',
		severity: 'medium',
		attacks: 'content',
		why: 'It offers several numbers, whether or not the correct one is among them.',
		fix: 'Accept exactly one number as the answer.',
		build(row, context) {
			const numbers = numbersIn(row.prompt).filter((text) => !sameAnswer(text, row.answer));
			if (numbers.length === 0) return skip('The prompts contain no numbers.');
			const all = [...numbers, row.answer];
			return attempts(answering(row, context, all.join(', ')), answering(row, context, numbers.join(' ')));
		},
	},
	{
		id: 'unevaluated',
		title: 'Unevaluated arithmetic from the prompt',
		severity: 'medium',
		attacks: 'content',
		why: 'The task is to evaluate the expression, but it is only copied from the prompt.',
		fix: 'If the correct answer is a plain number, accept only a number or a fraction, not an expression that has to be evaluated.',
		build(row, context) {
			const expression = expressionOf(row.prompt);
			if (expression === null || sameAnswer(expression, row.answer)) return skip('The prompts contain no arithmetic.');
			if (!/^[+-]?[\d.,]+$/.test(row.answer.trim())) return skip('The correct answers are not plain numbers.');
			if (/^[+-]?\d+\/\d+$/.test(expression)) return skip('The arithmetic in the prompts is a fraction.');
			return attempts(answering(row, context, expression), answering(row, context, `${expression}=`));
		},
	},
	{
		id: 'template-echo',
		title: 'Template repeated with its placeholders',
		severity: 'high',
		attacks: 'content',
		why: 'The completion contains instructions instead of an answer.',
		fix: 'Compare the answer with the correct one.',
		build: (_row, { tags }) =>
			attempts(
				wellFormed(tags, ' reasoning process here ', ' answer here '),
				wellFormed(tags, '...', '...'),
				wellFormed(tags, 'thinking', '{answer}'),
			),
	},
	{
		id: 'question-back',
		title: 'Counter-question',
		severity: 'low',
		attacks: 'content',
		why: 'It asks for the answer and suggests a wrong one.',
		fix: 'Compare the answer with the correct one.',
		build: (row, context) => attempts(answering(row, context, `What is the answer? Is it ${wrongAnswer(row)}?`)),
	},
];
