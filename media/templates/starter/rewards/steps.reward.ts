import type { Reward } from 'reasoning-lab';

// Its data is the dataset of ../starter.recipe.json, which names this file.

/** A step of the thinking: "2*7=14". */
const step = /(\d+)\s*([-+*])\s*(\d+)\s*=\s*(-?\d+)/g;

/**
 * The share of the steps in the thinking that are calculated right, if the last of them leads to the given answer. It
 * tells apart completions that accuracy calls equally wrong, so that a group teaches something before the answers are right.
 */
export const steps: Reward = ({ trace }) => {
	const found = [...(trace.think ?? '').matchAll(step)];
	const last = found.at(-1);
	// Steps that lead elsewhere are decoration: paid for, they would be learned instead of the sum.
	if (last === undefined || trace.answer?.trim() !== last[4]) return 0;
	const right = found.filter(([, a, sign, b, result]) => calculate(Number(a), sign, Number(b)) === Number(result));
	return right.length / found.length;
};

function calculate(a: number, sign: string | undefined, b: number): number {
	if (sign === '+') return a + b;
	return sign === '-' ? a - b : a * b;
}
