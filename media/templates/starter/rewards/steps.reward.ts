/// <reference path="reasoning-lab.d.ts" />
import type { Reward } from 'reasoning-lab';

// Uses the dataset from ../starter.recipe.json, which refers to this file.

/** Matches a step in the thinking section, such as "2*7=14". */
const step = /(\d+)\s*([-+*])\s*(\d+)\s*=\s*(-?\d+)/g;

/**
 * Fraction of steps in the thinking section that are calculated correctly, or 0 if the last step does not lead to the
 * given answer. This reward distinguishes between completions that the accuracy reward scores as equally wrong, so a
 * group provides a learning signal before any answer is correct.
 */
export const steps: Reward = ({ prompt, trace }) => {
	const found = [...(trace.think ?? '').matchAll(step)];
	const last = found.at(-1);
	// Steps that do not lead to the answer are padding. Rewarding them would teach the model to write them instead of
	// solving the problem.
	if (last === undefined || trace.answer?.trim() !== last[4]) return 0;
	// Each step uses up numbers from the prompt or results of earlier steps, so correct arithmetic from a different
	// problem earns nothing.
	const numbers: string[] = prompt.match(/\d+/g) ?? [];
	const needed = Math.max(found.length, numbers.length - 1);
	let right = 0;
	for (const [, a = '', sign, b = '', result = ''] of found) {
		if (take(numbers, a) && take(numbers, b) && calculate(Number(a), sign, Number(b)) === Number(result)) right++;
		numbers.push(result);
	}
	return right / needed;
};

/** Removes a number from the list. Returns false if it is not in the list. */
function take(numbers: string[], number: string): boolean {
	const at = numbers.indexOf(number);
	if (at !== -1) numbers.splice(at, 1);
	return at !== -1;
}

function calculate(a: number, sign: string | undefined, b: number): number {
	if (sign === '+') return a + b;
	return sign === '-' ? a - b : a * b;
}
