import type { Answer } from './answer.ts';

/**
 * Returns whether an answer leaves arithmetic undone when the gold answer is a number, such as `35+49` for 84. Such an
 * answer might be copied from the problem. Fractions, powers, and roots count as numbers.
 */
export function isUnfinished(gold: Answer, answer: Answer): boolean {
	if (gold.kind === 'named') return isUnfinished(gold.value, answer);
	if (answer.kind === 'named') return isUnfinished(gold, answer.value);
	if (gold.kind !== 'scalar' || answer.kind !== 'scalar') return false;
	if (gold.expression.op !== 'number' || answer.exact === null) return false;
	const { expression } = answer;
	if (expression.op === 'add') return true;
	if (expression.op !== 'multiply') return false;
	const isMinus = (node: (typeof expression.args)[number]) => node.op === 'number' && node.value.n === -1n;
	return expression.args.filter((factor) => !isMinus(factor)).length > 1;
}
