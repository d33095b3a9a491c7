/// <reference path="reasoning-lab.d.ts" />
import type { Reward } from 'reasoning-lab';

// Saved, this file is verified: what the reward does on your data stands behind its signature. The data is that of the
// recipe which names this file, or of a recipe nearby; or write a comment such as "@dataset ../data/train.jsonl" here.

/** The thinking that is paid in full, in characters. */
const short = 200;

/** Thinking that is short for a right answer: 1 up to the length above, falling to 0 at four times of it. */
export const __NAME__: Reward = ({ trace, answer, truncated }) => {
	// null: the reward does not apply to this row, and the sum leaves it out.
	if (answer === null || answer === undefined || answer === '') return null;
	// One think and one answer section and nothing around them: else several answers could be given at once.
	if (truncated || trace.faults.length > 0) return 0;
	// What is worth nothing when the answer is wrong cannot be earned by writing less.
	if (trace.answer?.trim() !== String(answer).trim()) return 0;
	const length = trace.think?.trim().length ?? 0;
	if (length === 0) return 0;
	return Math.min(1, Math.max(0, (4 * short - length) / (3 * short)));
};

// What a recipe that gives no weight uses.
__NAME__.weight = 0.1;
