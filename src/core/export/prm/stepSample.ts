import type { RolloutLabels, StepRating } from '../../../protocol/stepLabel.ts';

/** A step with its rating: wrong (-1), neutral (0), correct (+1); null: not rated. */
export interface RatedStep {
	readonly text: string;
	readonly rating: StepRating | null;
}

/** A solution with rated steps, the common representation of all process reward data formats. */
export interface StepSample {
	readonly prompt: string;
	/** Gold answer of the problem; null if unknown. */
	readonly answer: string | null;
	readonly steps: readonly RatedStep[];
	/** Seconds since the epoch; null if unknown. */
	readonly time: number | null;
}

/** Converts human labels of one completion. */
export function sampleOfLabels({ prompt, answer, steps, time }: RolloutLabels): StepSample {
	return { prompt, answer, steps, time };
}

/** The steps up to the last rated one. */
export function ratedSteps(steps: readonly RatedStep[]): RatedStep[] {
	return steps.slice(0, steps.findLastIndex(({ rating }) => rating !== null) + 1);
}
