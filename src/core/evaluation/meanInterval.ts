import { Random } from '../../base/random.ts';
import { type Estimate, wilsonInterval } from './interval.ts';
import { pairedBootstrap } from './pairedTest.ts';

/** Below so many questions the bootstrap is too narrow. */
export const fewestForBootstrap = 50;

export interface MeanInterval extends Estimate {
	readonly method: 'wilson' | 'bootstrap';
}

/**
 * Mean over questions with its 95 % interval. The questions are what was drawn from a larger world, so they are what the
 * bootstrap resamples, each with all of its samples (Efron and Tibshirani 1993, chapter 13); samples of one question are
 * not independent. Below fifty questions, and where all have one value, the Wilson score interval stands instead.
 *
 * @param values one per question: share of its right samples, 0 to 1
 */
export function meanInterval(values: readonly number[], random: Random = Random.of('mean-interval')): MeanInterval {
	const n = values.length;
	const mean = n === 0 ? Number.NaN : values.reduce((sum, value) => sum + value, 0) / n;
	const alike = values.every((value) => value === values[0]);
	if (n < fewestForBootstrap || alike) return { ...wilsonInterval(mean, n), method: 'wilson' };
	const { low, high } = pairedBootstrap(values, random, 4000);
	return { accuracy: mean, low, high, method: 'bootstrap' };
}
