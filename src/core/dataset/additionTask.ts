import type { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Problem, Proposals, Task, TaskProblem } from './problem.ts';
import { digitSymbols } from './settings.ts';

/** Adds column by column from the right, with carries: `285+149=` gives `5+9=14;1+8+4=13;1+2+1=4`. */
function addColumns(a: number, b: number, digits: number): string {
	const columns: string[] = [];
	let carry = 0;
	for (let i = 0, x = a, y = b; i < digits; i++, x = Math.floor(x / 10), y = Math.floor(y / 10)) {
		const sum = carry + (x % 10) + (y % 10);
		columns.push(`${i === 0 ? '' : `${carry}+`}${x % 10}+${y % 10}=${sum}`);
		carry = sum > 9 ? 1 : 0;
	}
	return columns.join(';');
}

/**
 * Subtracts column by column from the right, with borrows: `425-167=` gives `15-7=8;12-1-6=5;4-1-1=2`. A two-digit
 * first operand indicates a borrow.
 */
function subtractColumns(a: number, b: number, digits: number): string {
	const columns: string[] = [];
	let borrow = 0;
	for (let i = 0, x = a, y = b; i < digits; i++, x = Math.floor(x / 10), y = Math.floor(y / 10)) {
		const lend = (x % 10) - borrow - (y % 10) < 0 ? 10 : 0;
		const top = (x % 10) + lend;
		columns.push(`${top}${i === 0 ? '' : `-${borrow}`}-${y % 10}=${top - borrow - (y % 10)}`);
		borrow = lend === 0 ? 0 : 1;
	}
	return columns.join(';');
}

export interface AdditionSettings {
	/** Exact number of digits per operand (a single digit ranges from 0 to 9). */
	readonly digits: number;
	/** Whether half of the problems subtract the smaller operand from the larger one. */
	readonly subtraction: boolean;
	/** Fraction of problems that ask whether a sum is correct. */
	readonly judged: number;
	/** Fraction of problems that ask for a problem's second operand. */
	readonly proposed: number;
}

function sumOf(a: number, b: number, digits: number): TaskProblem {
	return {
		prompt: `${a}+${b}=`,
		answer: String(a + b),
		solution: addColumns(a, b, digits),
		key: a < b ? `${a}+${b}` : `${b}+${a}`,
		row: { a, b, operation: '+' },
	};
}

/** @param b at most a */
function differenceOf(a: number, b: number, digits: number): TaskProblem {
	return {
		prompt: `${a}-${b}=`,
		answer: String(a - b),
		solution: subtractColumns(a, b, digits),
		key: `${a}-${b}`,
		row: { a, b, operation: '-' },
	};
}

/** Returns the problem without its second operand, which is the answer. */
function withoutOperand({ key, row }: TaskProblem): TaskProblem {
	const { a, b, operation } = row;
	return {
		...askedFor(Number(a), operation === '-' ? '-' : '+'),
		answer: String(b),
		solution: `${a}${operation}${b}`,
		key,
	};
}

function askedFor(a: number, operation: '+' | '-'): Problem {
	const prompt = `${a}${operation}?`;
	return { prompt, answer: null, solution: null, key: prompt, row: { a, operation, proposes: true } };
}

/** Rewrites the problem as a question about whether a sum is correct. Half of the sums are. */
function judgedSum({ prompt, answer, solution, key, row }: TaskProblem, random: Random): TaskProblem {
	const shown = random.int(2) === 1 ? answer : wrongSum(answer, random);
	return {
		prompt: `${prompt}${shown}?`,
		answer: shown === answer ? '1' : '0',
		solution: `${solution};${answer}`,
		// Keep the key of the sum, so that held-out sums are not judged in training either.
		key,
		row: { ...row, shown },
	};
}

/** Returns the number with one digit changed, usually by 1, as in a carry error. */
function wrongSum(sum: string, random: Random): string {
	const place = random.int(sum.length);
	const digit = Number(sum[place]);
	const next = random.int(2) === 1 ? (digit + (random.int(2) === 1 ? 1 : 9)) % 10 : (digit + random.between(1, 9)) % 10;
	return `${sum.slice(0, place)}${next}${sum.slice(place + 1)}`;
}

export function additionTask({ digits, subtraction, judged, proposed }: AdditionSettings): Task {
	const low = digits === 1 ? 0 : 10 ** (digits - 1);
	const high = 10 ** digits - 1;
	const operand = new RegExp(`^(?:0|[1-9][0-9]{0,${digits - 1}})$`);
	const proposals: Proposals = {
		ask(random) {
			const { row } = sum(random);
			return askedFor(Number(row.a), row.operation === '-' ? '-' : '+');
		},
		// Operands with fewer digits are also valid, so the policy decides how hard its problems are.
		read({ row }, answer) {
			const a = Number(row.a);
			const text = answer.trim();
			if (!operand.test(text)) return null;
			const b = Number(text);
			if (row.operation !== '-') return sumOf(a, b, digits);
			return b > a ? null : differenceOf(a, b, digits);
		},
	};
	return {
		name: 'addition',
		symbols: [...digitSymbols, '+', '=', ';', ...(subtraction ? ['-'] : []), ...(judged + proposed > 0 ? ['?'] : [])],
		maxPromptLength: 2 * digits + 2 + (judged > 0 ? digits + 2 : 0),
		// The first column is at most 9+9=18 or 19-9=10, the others 1+9+9=19 or 19-1-9=9.
		maxSolutionLength: 6 + (digits - 1) * 9 + (judged > 0 ? digits + 2 : 0),
		maxAnswerLength: digits + 1,
		sample(random: Random): TaskProblem {
			const problem = sum(random);
			if (judged > 0 && random.next() < judged) return judgedSum(problem, random);
			return proposed > 0 && random.next() < proposed ? withoutOperand(problem) : problem;
		},
		proposals,
		verify: (question, answer) =>
			question.row.proposes === true
				? proposals.read(question, answer) !== null
				: question.answer !== null && answersEqual(question.answer, answer),
	};

	function sum(random: Random): TaskProblem {
		let a = random.between(low, high);
		let b = random.between(low, high);
		if (subtraction && random.int(2) === 1) {
			if (a < b) [a, b] = [b, a];
			return differenceOf(a, b, digits);
		}
		return sumOf(a, b, digits);
	}
}
