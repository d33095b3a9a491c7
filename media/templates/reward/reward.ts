/// <reference path="reasoning-lab.d.ts" />
import type { Reward } from 'reasoning-lab';

// When you save this file, it is verified: the reward's results on your data appear next to its signature. The data
// comes from the recipe that refers to this file, or from a nearby recipe. To use other data, add a comment such as
// "@dataset ../data/train.jsonl".

/** Maximum length of the thinking section, in characters, for the full reward. */
const short = 200;

/**
 * Rewards correct answers with short thinking: 1 up to `short` characters, decreasing to 0 at four times that length.
 */
export const __NAME__: Reward = ({ trace, answer, truncated }) => {
	// null: the reward does not apply to this row and is excluded from its total.
	if (answer === null || answer === undefined || answer === '') return null;
	// Require exactly one think and one answer section with nothing around them, so a completion cannot give several
	// answers.
	if (truncated || trace.faults.length > 0) return 0;
	// Incorrect answers get nothing, so shorter thinking alone cannot earn a reward.
	if (trace.answer?.trim() !== String(answer).trim()) return 0;
	const length = trace.think?.trim().length ?? 0;
	if (length === 0) return 0;
	return Math.min(1, Math.max(0, (4 * short - length) / (3 * short)));
};

// Default weight for recipes that do not set one.
__NAME__.weight = 0.1;
