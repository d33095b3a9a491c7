/// <reference path="reasoning-lab.d.ts" />
import type { Reward } from 'reasoning-lab';

// Its data is the dataset of ../starter.recipe.json, which names this file.

/** A step of the thinking: "2*7=14". */
const step = /(\d+)\s*([-+*])\s*(\d+)\s*=\s*(-?\d+)/g;

/**
 * The share of the steps in the thinking that are calculated right, if the last of them leads to the given answer. It
 * tells apart completions that accuracy calls equally wrong, so that a group teaches something before the answers are right.
 */
export const steps: Reward = ({ prompt, trace }) => {
	const found = [...(trace.think ?? '').matchAll(step)];
	const last = found.at(-1);
	// Steps that lead elsewhere are decoration: paid for, they would be learned instead of the sum.
	if (last === undefined || trace.answer?.trim() !== last[4]) return 0;
	// Each step uses up numbers of the prompt, or results of earlier steps: the right sums of another problem earn nothing.
	const numbers: string[] = prompt.match(/\d+/g) ?? [];
	const needed = Math.max(found.length, numbers.length - 1);
	let right = 0;
	for (const [, a = '', sign, b = '', result = ''] of found) {
		if (take(numbers, a) && take(numbers, b) && calculate(Number(a), sign, Number(b)) === Number(result)) right++;
		numbers.push(result);
	}
	return right / needed;
};

/** Takes a number out of the list; false: it is not there. */
function take(numbers: string[], number: string): boolean {
	const at = numbers.indexOf(number);
	if (at !== -1) numbers.splice(at, 1);
	return at !== -1;
}

function calculate(a: number, sign: string | undefined, b: number): number {
	if (sign === '+') return a + b;
	return sign === '-' ? a - b : a * b;
}
