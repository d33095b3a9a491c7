import type { StepAggregate, StepSplit } from '../../protocol/recipeKeys/builtInRewards.ts';

const marks: Readonly<Record<StepSplit, RegExp>> = {
	lines: /\n/,
	paragraphs: /\n[^\S\n]*\n/,
	/** Splits before "Step 3:" or "3." at the start of a line; text before the first match is also a step. */
	numbered: /\n(?=[^\S\n]*(?:\*\*|#{1,6} )?(?:step[^\S\n]+\d{1,4}\b|\d{1,3}[.)][^\S\n]))/i,
	/** Splits after sentence punctuation followed by whitespace, which keeps 3.5 intact. */
	sentences: /(?<=[.!?])\s+|(?<=[\u3002\uFF01\uFF1F])|\n+/,
};

/** Splits thinking into trimmed, nonempty steps. Returns at most `limit` steps; the last one contains the rest. */
export function splitSteps(thinking: string, by: StepSplit, limit: number): string[] {
	const steps = thinking
		.split(marks[by])
		.map((step) => step.trim())
		.filter((step) => step !== '');
	return steps.length <= limit ? steps : [...steps.slice(0, limit - 1), steps.slice(limit - 1).join('\n')];
}

/** Aggregates step scores into one value; null if there are none. */
export function aggregateSteps(scores: readonly number[], how: StepAggregate): number | null {
	if (scores.length === 0) return null;
	switch (how) {
		case 'mean':
			return scores.reduce((sum, score) => sum + score, 0) / scores.length;
		case 'min':
			return Math.min(...scores);
		case 'last':
			return scores.at(-1) as number;
		case 'product':
			return scores.reduce((product, score) => product * score, 1);
	}
}
