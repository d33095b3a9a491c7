import type { RolloutLabels, StepRating } from '../../../protocol/stepLabel.ts';

/** A step with its rating: wrong (-1), neutral (0), right (+1); null: nobody has said. */
export interface RatedStep {
	readonly text: string;
	readonly rating: StepRating | null;
}

/** A solution whose steps are rated: what all data of process reward models is, in whichever form it is written. */
export interface StepSample {
	readonly prompt: string;
	/** The right answer of the problem; null: not given. */
	readonly answer: string | null;
	readonly steps: readonly RatedStep[];
	/** Seconds since the epoch; null: not told. */
	readonly time: number | null;
}

/** What persons said of one completion. */
export function sampleOfLabels({ prompt, answer, steps, time }: RolloutLabels): StepSample {
	return { prompt, answer, steps, time };
}

/** The steps up to the last that is rated: what lies behind, nobody has judged. */
export function ratedBeginning(steps: readonly RatedStep[]): RatedStep[] {
	return steps.slice(0, steps.findLastIndex(({ rating }) => rating !== null) + 1);
}
