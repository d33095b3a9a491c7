import { Random } from '../../src/base/random.ts';

/**
 * Rows of the project template "environments": text of `guess.rows.jsonl` and `calculator.rows.jsonl`. Prompts differ,
 * because held-out rows are selected by prompt.
 */

const letters = 'abcdefghijklmnopqrstuvwxyz';
/** Largest number to guess. Binary search needs at most four guesses. */
const high = 15;

/** Returns the guesses of binary search. */
export function binarySearch(number: number, last = high): number[] {
	const guesses: number[] = [];
	for (let [from, to] = [1, last]; from <= to; ) {
		const guess = (from + to) >> 1;
		guesses.push(guess);
		if (guess === number) break;
		if (guess < number) from = guess + 1;
		else to = guess - 1;
	}
	return guesses;
}

const lines = (rows: readonly object[]) => `${rows.map((row) => JSON.stringify(row)).join('\n')}\n`;

export function guessRows(): string {
	const rows = Array.from({ length: 20 * high }, (_, i) => {
		const number = 1 + (i % high);
		const calls = binarySearch(number).map((guess) => ({ name: 'guess', arguments: { number: guess } }));
		const name = `${letters[Math.floor(i / letters.length)]}${letters[i % letters.length]}`;
		return { prompt: `${name} 1-${high}:`, answer: null, number, calls };
	});
	return lines(rows);
}

export function calculatorRows(): string {
	const random = Random.of('calculator rows');
	const expressions = new Set<string>();
	while (expressions.size < 1000) expressions.add(`${random.between(12, 99)}*${random.between(12, 99)}`);
	const rows = [...expressions].map((expression) => {
		const [left = 0, right = 0] = expression.split('*').map(Number);
		const calls = [
			{ name: 'calc', arguments: { expression } },
			{ name: 'submit', arguments: { answer: left * right } },
		];
		return { prompt: `${expression}=`, answer: String(left * right), expression, calls };
	});
	return lines(rows);
}
