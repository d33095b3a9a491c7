import type { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Task, TaskProblem } from './problem.ts';
import { digitSymbols, digitsOf } from './settings.ts';

const operators = ['+', '-', '*'] as const;
interface Step {
	readonly operator: (typeof operators)[number];
	readonly operand: number;
}

/** Returns a canonical key. Adjacent additions commute, as do adjacent multiplications, so their order is ignored. */
function canonical(start: number, steps: readonly Step[], modulus: number): string {
	const runs: { product: boolean; parts: string[] }[] = [];
	const first: Step = { operator: steps[0]?.operator === '*' ? '*' : '+', operand: start };
	for (const { operator, operand } of [first, ...steps]) {
		const product = operator === '*';
		const run = runs.at(-1);
		if (run?.product === product) run.parts.push(`${operator}${operand}`);
		else runs.push({ product, parts: [`${operator}${operand}`] });
	}
	return `${runs.map((run) => run.parts.sort().join('')).join(';')}%${modulus}`;
}

export interface ModularSettings {
	/** Number of operations. */
	readonly terms: number;
	/** Exclusive upper bound for operands. */
	readonly modulus: number;
}

/** Evaluates left to right, reducing after each step: `5;+3;*4%7=` gives `5+3=8>1;1*4=4>4`, so the answer is 4. */
export function modularTask({ terms, modulus }: ModularSettings): Task {
	const width = digitsOf(modulus - 1);
	return {
		name: 'modular',
		symbols: [...digitSymbols, ...operators, ';', '%', '=', '>'],
		maxPromptLength: width + terms * (width + 2) + 2 + digitsOf(modulus),
		maxSolutionLength: terms * (3 * width + 4 + Math.max(digitsOf((modulus - 1) ** 2), width + 1)) - 1,
		maxAnswerLength: width,
		sample(random: Random): TaskProblem {
			const start = random.int(modulus);
			const steps: Step[] = Array.from({ length: terms }, () => ({
				operator: random.pick(operators),
				// Exclude 0: multiplying by it would erase all earlier steps.
				operand: random.between(1, modulus - 1),
			}));
			const worked: string[] = [];
			let value = start;
			for (const { operator, operand } of steps) {
				const raw = operator === '+' ? value + operand : operator === '-' ? value - operand : value * operand;
				const reduced = ((raw % modulus) + modulus) % modulus;
				worked.push(`${value}${operator}${operand}=${raw}>${reduced}`);
				value = reduced;
			}
			const chain = steps.map(({ operator, operand }) => `;${operator}${operand}`).join('');
			return {
				prompt: `${start}${chain}%${modulus}=`,
				answer: String(value),
				solution: worked.join(';'),
				key: canonical(start, steps, modulus),
				row: { start, steps: steps.map(({ operator, operand }) => `${operator}${operand}`), modulus },
			};
		},
		verify: (question, answer) => question.answer !== null && answersEqual(question.answer, answer),
	};
}
