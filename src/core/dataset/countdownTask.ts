import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import { evaluateExpression } from './expression.ts';
import type { Problem, Proposals, Question, Task, TaskProblem } from './problem.ts';
import { digitSymbols, digitsOf } from './settings.ts';

interface Node {
	readonly text: string;
	readonly value: number;
	/** Whether the expression is a sum, which needs parentheses under `*` and to the right of `-`. */
	readonly isSum: boolean;
}

const operators = ['+', '-', '*'] as const;

function join(operator: (typeof operators)[number], left: Node, right: Node): Node {
	const value =
		operator === '+'
			? left.value + right.value
			: operator === '-'
				? left.value - right.value
				: left.value * right.value;
	const wrap = (node: Node, needed: boolean) => (node.isSum && needed ? `(${node.text})` : node.text);
	const text = `${wrap(left, operator === '*')}${operator}${wrap(right, operator !== '+')}`;
	return { text, value, isSum: operator !== '*' };
}

/** Combines all numbers at random. Returns null if an intermediate value falls outside 1..largest. */
function combineAll(
	numbers: readonly number[],
	largest: number,
	random: Random,
): { node: Node; steps: string[] } | null {
	const nodes: Node[] = numbers.map((value) => ({ text: String(value), value, isSum: false }));
	const steps: string[] = [];
	while (nodes.length > 1) {
		const left = nodes.splice(random.int(nodes.length), 1)[0] as Node;
		const right = nodes.splice(random.int(nodes.length), 1)[0] as Node;
		const operator = random.pick(operators);
		const node = join(operator, left, right);
		if (node.value < 1 || node.value > largest) return null;
		steps.push(`${left.value}${operator}${right.value}=${node.value}`);
		nodes.push(node);
	}
	return { node: nodes[0] as Node, steps };
}

function sameNumbers(a: readonly number[], b: readonly number[]): boolean {
	const sorted = (list: readonly number[]) => [...list].sort((x, y) => x - y).join();
	return sorted(a) === sorted(b);
}

/** Reads the numbers and target from a row, which can come from a file. Returns null if they are malformed. */
function readRow(row: Question['row']): { numbers: number[]; target: number } | null {
	const { numbers, target } = row;
	if (!Array.isArray(numbers) || numbers.length > 16 || typeof target !== 'number') return null;
	return numbers.every((value) => typeof value === 'number') ? { numbers, target } : null;
}

export interface CountdownSettings {
	/** Number of operands; each must be used exactly once. */
	readonly terms: number;
	/** Largest target. Operands are at most one fifth of this value. */
	readonly largest: number;
	/** Fraction of problems that ask for a target, in the form of an expression with that value. */
	readonly proposed: number;
}

function problemOf(numbers: readonly number[], target: number): Problem {
	return {
		prompt: `${numbers.join(',')}:${target}=`,
		answer: null,
		solution: null,
		key: `${[...numbers].sort((a, b) => a - b).join(',')}:${target}`,
		row: { numbers, target },
	};
}

/** Returns a prompt that shows the numbers and asks for an expression, whose value becomes the target. */
function askedFor(numbers: readonly number[]): Problem {
	const prompt = `${numbers.join(',')}:?`;
	return { prompt, answer: null, solution: null, key: prompt, row: { numbers, proposes: true } };
}

/**
 * Generates problems such as `3,5,2:16=`, which asks for an expression that equals 16 and uses 3, 5, and 2 once each.
 * Any expression that evaluates to the target is correct.
 */
export function countdownTask({ terms, largest, proposed }: CountdownSettings): Task {
	if (largest < 5 * terms) {
		throw new Failure(
			'invalid',
			`The task "countdown" has almost no problems with ${terms} terms and targets up to ${largest}.`,
			`Set "largest" to at least ${5 * terms}.`,
		);
	}
	const highest = Math.ceil(largest / 5);
	const width = digitsOf(largest);
	const operand = digitsOf(highest);
	/** Returns the value of an expression that uses exactly these numbers, or null if it is not a possible target. */
	const targetOf = (numbers: readonly number[], expression: string): number | null => {
		const given = evaluateExpression(expression);
		if (given === null || given.value === null || given.value < 1 || given.value > largest) return null;
		return sameNumbers(given.numbers, numbers) ? given.value : null;
	};
	const proposals: Proposals = {
		ask: (random) => askedFor(Array.from({ length: terms }, () => random.between(1, highest))),
		// An expression proves that its value can be reached, so every problem posed this way has an answer.
		read({ row: { numbers } }, answer) {
			const shown = numbers as readonly number[];
			const target = targetOf(shown, answer);
			return target === null ? null : { ...problemOf(shown, target), answer: answer.replace(/\s+/g, '') };
		},
	};
	return {
		name: 'countdown',
		symbols: [...digitSymbols, ...operators, '(', ')', ',', ':', '=', ';', ...(proposed > 0 ? ['?'] : [])],
		maxPromptLength: terms * (operand + 1) + width + 1,
		maxSolutionLength: (terms - 1) * (3 * width + 3) - 1,
		maxAnswerLength: terms * operand + (terms - 1) + 2 * Math.max(0, terms - 2),
		sample(random: Random): TaskProblem {
			for (;;) {
				const numbers = Array.from({ length: terms }, () => random.between(1, highest));
				const worked = combineAll(numbers, largest, random);
				if (worked === null) continue;
				const { node, steps } = worked;
				const shown = random.shuffle([...numbers]);
				const problem = { ...problemOf(shown, node.value), answer: node.text, solution: steps.join(';') };
				if (proposed === 0 || random.next() >= proposed) return problem;
				return { ...problem, ...askedFor(shown), answer: node.text, solution: problem.solution, key: problem.key };
			}
		},
		proposals,
		verify(question, answer) {
			if (question.row.proposes === true) return proposals.read(question, answer) !== null;
			const asked = readRow(question.row);
			const given = evaluateExpression(answer);
			return (
				asked !== null && given !== null && given.value === asked.target && sameNumbers(given.numbers, asked.numbers)
			);
		},
	};
}
