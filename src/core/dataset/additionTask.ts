import type { Random } from '../../base/random.ts';
import { answersEqual } from './answer.ts';
import type { Task, TaskProblem } from './problem.ts';
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
}

export function additionTask({ digits, subtraction }: AdditionSettings): Task {
	const low = digits === 1 ? 0 : 10 ** (digits - 1);
	const high = 10 ** digits - 1;
	return {
		name: 'addition',
		symbols: [...digitSymbols, '+', '=', ';', ...(subtraction ? ['-'] : [])],
		maxPromptLength: 2 * digits + 2,
		// The first column is at most 9+9=18 or 19-9=10, the others 1+9+9=19 or 19-1-9=9.
		maxSolutionLength: 6 + (digits - 1) * 9,
		maxAnswerLength: digits + 1,
		sample(random: Random): TaskProblem {
			let a = random.between(low, high);
			let b = random.between(low, high);
			if (subtraction && random.int(2) === 1) {
				if (a < b) [a, b] = [b, a];
				return {
					prompt: `${a}-${b}=`,
					answer: String(a - b),
					solution: subtractColumns(a, b, digits),
					key: `${a}-${b}`,
					row: { a, b, operation: '-' },
				};
			}
			return {
				prompt: `${a}+${b}=`,
				answer: String(a + b),
				solution: addColumns(a, b, digits),
				key: a < b ? `${a}+${b}` : `${b}+${a}`,
				row: { a, b, operation: '+' },
			};
		},
		verify: (question, answer) => question.answer !== null && answersEqual(question.answer, answer),
	};
}
