import type { Random } from '../../base/random.ts';
import type { Question, Task, TaskProblem } from './problem.ts';
import { digitSymbols, digitsOf } from './settings.ts';

/** Text between a try that misses the target and the next try. */
const again = ';try again;';
/**
 * Text between tries in pretraining text. It has the same length as `again`, so that tries start at the same positions.
 */
const also = ';and again;';
/** Maximum number of tries in a worked solution. */
const maxTries = 8;
/** `varied`: fraction of worked solutions that continue after the first miss, and after each later one. */
const continued = { first: 0.12, later: 0.85 } as const;

export interface SignsSettings {
	/** How many numbers a problem has. */
	readonly terms: number;
	/** Sums are taken modulo this number, which is greater than every number in a problem. */
	readonly modulus: number;
	/**
	 * Solution style. With `full`, solutions try other signs until the result is the target. With `varied`, most of them
	 * answer with the first signs they try, even if the result is not the target.
	 */
	readonly style: 'full' | 'varied';
}

/** Numbers with signs. */
interface Try {
	/** `3+5-8` */
	readonly expression: string;
	/** The same with running sums: `3+5=8,-8=0` */
	readonly steps: string;
	readonly value: number;
}

/** Returns the residue from 0 to modulus - 1. */
const residue = (value: number, modulus: number) => ((value % modulus) + modulus) % modulus;

/** @param minus bit i is set if number i + 1 is subtracted; the first number is never subtracted */
function tryOf(numbers: readonly number[], minus: number, modulus: number): Try {
	const [first = 0, ...rest] = numbers;
	let expression = String(first);
	const steps: string[] = [];
	let value = first;
	for (const [i, number] of rest.entries()) {
		const isMinus = ((minus >> i) & 1) === 1;
		const signed = `${isMinus ? '-' : '+'}${number}`;
		value = residue(value + (isMinus ? -number : number), modulus);
		expression += signed;
		steps.push(`${i === 0 ? first : ''}${signed}=${value}`);
	}
	return { expression, steps: steps.join(), value };
}

/** Reads the numbers and target from a row, which can come from a file. Returns null if they are malformed. */
function readRow(row: Question['row']): { numbers: number[]; target: number } | null {
	const { numbers, target } = row;
	if (!Array.isArray(numbers) || numbers.length > 16 || !Number.isSafeInteger(target)) return null;
	return numbers.every((value) => Number.isSafeInteger(value)) ? { numbers, target: target as number } : null;
}

/** Maximum answer length, which keeps parsing fast. */
const longest = 400;
const signedNumbers = /^\d{1,9}(?: ?[+-] ?\d{1,9})*$/;

/** Returns the unsigned numbers in an expression and its value, or null if it is not a sum of such numbers. */
function readAnswer(answer: string): { numbers: number[]; value: number } | null {
	const text = answer.trim();
	if (text.length > longest || !signedNumbers.test(text)) return null;
	const signed = [...text.replaceAll(' ', '').matchAll(/[+-]?\d+/g)].map(([number]) => Number(number));
	return { numbers: signed.map(Math.abs), value: signed.reduce((sum, number) => sum + number, 0) };
}

/**
 * Generates search problems such as `3 1 4 2:1`, which asks for a sign before each number except the first so that the
 * result is 1 modulo 5. A try is cheap and easy to check but usually misses, so accuracy grows with the number of
 * tries. A worked solution with two tries is `3-1=2,+4=1,-2=4;try again;3+1=4,+4=3,-2=1`. Pretraining text uses a
 * different separator and also lists tries up to the one that reaches the target. It teaches the sums at every position
 * of a long solution, and what counts as a hit.
 */
export function signsTask({ terms, modulus, style }: SignsSettings): Task {
	const all = 2 ** (terms - 1);
	const width = digitsOf(modulus - 1);
	const tryLength = width + (terms - 1) * (2 * width + 2) + terms - 2;
	const numbersOf = (random: Random) => Array.from({ length: terms }, () => random.int(modulus));
	const triesOf = (random: Random, numbers: readonly number[], count: number): Try[] => {
		const order = new Set<number>();
		while (order.size < Math.min(all, count)) order.add(random.int(all));
		return [...order].map((minus) => tryOf(numbers, minus, modulus));
	};

	/** Returns the tries up to the one that reaches the target, or some of them in varied style. */
	function worked(random: Random, numbers: readonly number[], target: number, of: SignsSettings['style']): Try[] {
		const tries = triesOf(random, numbers, maxTries);
		const isLast = ({ value }: Try, i: number) =>
			value === target || (of === 'varied' && random.next() >= (i === 0 ? continued.first : continued.later));
		const last = tries.findIndex(isLast);
		return last < 0 ? tries : tries.slice(0, last + 1);
	}

	/** Returns numbers and a target that they can reach. */
	function posed(random: Random) {
		const numbers = numbersOf(random);
		const { expression, value: target } = tryOf(numbers, random.int(all), modulus);
		return { numbers, expression, target, prompt: `${numbers.join(' ')}:${target}` };
	}

	return {
		name: 'signs',
		symbols: [...new Set([...digitSymbols, ...' +-=:,', ...again, ...also])],
		maxPromptLength: terms * (width + 1) + width,
		maxSolutionLength: Math.min(all, maxTries) * (tryLength + again.length) - again.length,
		maxAnswerLength: terms * (width + 1) - 1,
		sample(random: Random): TaskProblem {
			const { numbers, expression, target, prompt } = posed(random);
			const tries = worked(random, numbers, target, style);
			return {
				prompt,
				answer: expression,
				stated: (tries.at(-1) as Try).expression,
				solution: tries.map(({ steps }) => steps).join(again),
				key: `${numbers.join()}:${target}`,
				row: { numbers, target },
			};
		},
		text(random: Random): string {
			const { numbers, target, prompt } = posed(random);
			const tries = worked(random, numbers, target, 'full');
			// Replace the colon, so that this text never follows an actual prompt.
			return `${prompt.replace(':', '=')} ${tries.map(({ steps }) => steps).join(also)}`;
		},
		verify({ row }, answer) {
			const asked = readRow(row);
			const given = readAnswer(answer);
			return (
				asked !== null &&
				given !== null &&
				residue(given.value - asked.target, modulus) === 0 &&
				given.numbers.length === asked.numbers.length &&
				given.numbers.every((number, i) => number === asked.numbers[i])
			);
		},
	};
}
