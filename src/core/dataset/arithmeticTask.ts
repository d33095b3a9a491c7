import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Problem, Proposals, Task, TaskProblem } from './problem.ts';
import { digitSymbols, digitsOf } from './settings.ts';

type Operator = '+' | '-' | '*';
const operators: readonly Operator[] = ['+', '-', '*'];

function apply(operator: Operator, a: number, b: number): number {
	return operator === '+' ? a + b : operator === '-' ? a - b : a * b;
}

/** Evaluates products first, then sums, left to right: `2+3*4-5=` gives `3*4=12;2+12=14;14-5=9`. */
function workOut(numbers: readonly number[], signs: readonly Operator[]): { steps: string[]; value: number } {
	const values = [...numbers];
	const rest = [...signs];
	const steps: string[] = [];
	const reduce = (at: number) => {
		const [a, operator, b] = [values[at] as number, rest[at] as Operator, values[at + 1] as number];
		const value = apply(operator, a, b);
		steps.push(`${a}${operator}${b}=${value}`);
		values.splice(at, 2, value);
		rest.splice(at, 1);
	};
	for (let at = rest.indexOf('*'); at >= 0; at = rest.indexOf('*')) reduce(at);
	while (rest.length > 0) reduce(0);
	return { steps, value: values[0] as number };
}

/** Returns a key that is independent of the order of terms and factors. */
function canonical(numbers: readonly number[], signs: readonly Operator[]): string {
	const terms: { sign: '+' | '-'; factors: number[] }[] = [{ sign: '+', factors: [numbers[0] as number] }];
	for (const [i, sign] of signs.entries()) {
		const number = numbers[i + 1] as number;
		if (sign === '*') terms.at(-1)?.factors.push(number);
		else terms.push({ sign, factors: [number] });
	}
	return terms
		.map(({ sign, factors }) => sign + factors.sort((a, b) => a - b).join('*'))
		.sort()
		.join('');
}

export interface ArithmeticSettings {
	/** Number of operands. */
	readonly terms: number;
	/** Largest operand; the smallest is 1. */
	readonly largest: number;
	/** Fraction of problems that ask for the rest of an expression. */
	readonly proposed: number;
}

function problemOf(numbers: readonly number[], signs: readonly Operator[]): TaskProblem {
	const { steps, value } = workOut(numbers, signs);
	const expression = numbers.map((number, i) => `${i === 0 ? '' : signs[i - 1]}${number}`).join('');
	return {
		prompt: `${expression}=`,
		answer: String(value),
		solution: steps.join(';'),
		key: canonical(numbers, signs),
		row: { expression, value },
	};
}

/** Returns a prompt that shows the first operand and asks for the rest. */
function askedFor(first: number): Problem {
	const prompt = `${first}?`;
	return { prompt, answer: null, solution: null, key: prompt, row: { first, proposes: true } };
}

/** Reduces the problem to its first operand; the rest is the answer. */
function withoutRest({ key, row }: TaskProblem): TaskProblem {
	const expression = String(row.expression);
	const [first = ''] = /^\d+/.exec(expression) ?? [];
	return { ...askedFor(Number(first)), answer: expression.slice(first.length), solution: expression, key };
}

export function arithmeticTask({ terms, largest, proposed }: ArithmeticSettings): Task {
	if (largest ** terms > Number.MAX_SAFE_INTEGER) {
		throw new Failure(
			'invalid',
			`The task "arithmetic" with ${terms} terms up to ${largest} can produce results too large to represent exactly.`,
			'Reduce "terms" or "largest".',
		);
	}
	let solution = terms - 2;
	for (let step = 1; step < terms; step++) {
		// This step involves at most step + 1 operands. The numbers on its two sides together have at most one more digit
		// than their product, plus one sign each.
		const digits = digitsOf(largest ** (step + 1));
		solution += digits + 1 + 1 + 2 + (digits + 1);
	}
	const rest = new RegExp(`^(?:[-+*][1-9][0-9]{0,${digitsOf(largest) - 1}}){1,${terms - 1}}$`);
	const proposals: Proposals = {
		ask: (random) => askedFor(random.between(1, largest)),
		// Expressions with fewer operands are also valid, so the policy decides how hard its problems are.
		read({ row }, answer) {
			const text = answer.trim();
			if (!rest.test(text)) return null;
			const numbers = [Number(row.first), ...(text.match(/\d+/g) ?? []).map(Number)];
			if (numbers.some((number) => number > largest)) return null;
			return problemOf(numbers, (text.match(/[-+*]/g) ?? []) as Operator[]);
		},
	};
	return {
		name: 'arithmetic',
		symbols: [...digitSymbols, ...operators, '=', ';', ...(proposed > 0 ? ['?'] : [])],
		maxPromptLength: terms * digitsOf(largest) + terms,
		maxSolutionLength: solution,
		maxAnswerLength: Math.max(digitsOf(largest ** terms) + 1, proposed > 0 ? (terms - 1) * (digitsOf(largest) + 1) : 0),
		sample(random: Random): TaskProblem {
			const numbers = Array.from({ length: terms }, () => random.between(1, largest));
			const signs = Array.from({ length: terms - 1 }, () => random.pick(operators));
			const problem = problemOf(numbers, signs);
			return proposed > 0 && random.next() < proposed ? withoutRest(problem) : problem;
		},
		proposals,
		verify: (question, answer) =>
			question.row.proposes === true
				? proposals.read(question, answer) !== null
				: question.answer !== null && answersEqual(question.answer, answer),
	};
}
