import type { RolloutLabels, StepRating } from '../../../protocol/stepLabel.ts';

/** A step and its rating: wrong (-1), neutral (0), correct (+1), or null if not rated. */
export interface RatedStep {
	readonly text: string;
	readonly rating: StepRating | null;
}

/** A solution with rated steps. All process reward data formats are converted to and from this type. */
export interface StepSample {
	readonly prompt: string;
	/** Gold answer to the problem, or null if unknown. */
	readonly answer: string | null;
	readonly steps: readonly RatedStep[];
	/** Seconds since the epoch, or null if unknown. */
	readonly time: number | null;
}

/** Converts the human labels of one completion. */
export function sampleOfLabels({ prompt, answer, steps, time }: RolloutLabels): StepSample {
	return { prompt, answer, steps, time };
}

/** Returns the steps up to and including the last rated one. */
export function ratedSteps(steps: readonly RatedStep[]): RatedStep[] {
	return steps.slice(0, steps.findLastIndex(({ rating }) => rating !== null) + 1);
}
