import { Random } from '../../src/base/random.ts';
import { differenceInterval } from '../../src/core/evaluation/differenceInterval.ts';
import { meanInterval } from '../../src/core/evaluation/meanInterval.ts';
import { signFlipTest } from '../../src/core/evaluation/pairedTest.ts';
import { passAtK } from '../../src/core/evaluation/passAtK.ts';
import { type Sampled, voteOfK } from '../../src/core/search/comparison/subsets.ts';

/** A simulation of evaluations whose true value is known. */
export interface CoverageCase {
	/** Quantity that the interval estimates. */
	readonly of: 'accuracy' | 'pass@4' | 'cons@3' | 'gain of cons@3' | 'difference';
	readonly questions: number;
	/** Samples per question. */
	readonly samples: number;
	/** Mean fraction of correct samples; for a difference, on the first side. */
	readonly p: number;
	/**
	 * Spread of question difficulty, from 0 to 1: half of the questions are harder than the mean and half are easier, by
	 * this fraction of the distance to 0 or 1, whichever is closer.
	 */
	readonly apart: number;
	/** For a difference: how much better the second side is. */
	readonly better?: number;
}

/** Returns the fraction of evaluations whose 95% interval contains the true value, and the mean interval width. */
export function coverageOf(one: CoverageCase, trials: number): { readonly held: number; readonly width: number } {
	const random = Random.of('coverage', one.of, one.questions, one.samples, one.p, one.apart);
	const truth = truthOf(one);
	let held = 0;
	let width = 0;
	for (let trial = 0; trial < trials; trial++) {
		const { low, high } = intervalOf(one, random);
		if (low <= truth && truth <= high) held++;
		width += (high - low) / trials;
	}
	return { held: held / trials, width };
}

/** Returns the fraction of comparisons between two equally good runs in which p is below 0.05. */
export function falsePositives(one: Omit<CoverageCase, 'of'>, trials: number): number {
	const random = Random.of('false positives', one.questions, one.samples, one.p, one.apart);
	let found = 0;
	for (let trial = 0; trial < trials; trial++) {
		if (signFlipTest(differencesOf({ ...one, of: 'difference' }, random)) < 0.05) found++;
	}
	return found / trials;
}

/** Returns the two question types, which are equally frequent. */
function kinds({ p, apart }: CoverageCase): readonly [number, number] {
	const step = apart * Math.min(p, 1 - p);
	return [p - step, p + step];
}

const majorityOf3 = (p: number) => p ** 3 + 3 * p ** 2 * (1 - p);

/** Returns the true value, to which a perfect interval would shrink. */
export function truthOf(one: CoverageCase): number {
	const mean = (of: (p: number) => number) => kinds(one).reduce((sum, p) => sum + of(p) / 2, 0);
	switch (one.of) {
		case 'accuracy':
			return one.p;
		case 'pass@4':
			return mean((p) => 1 - (1 - p) ** 4);
		case 'cons@3':
			return mean(majorityOf3);
		case 'gain of cons@3':
			return mean((p) => majorityOf3(p) - p);
		case 'difference':
			return one.better ?? 0;
	}
}

function intervalOf(one: CoverageCase, random: Random): { readonly low: number; readonly high: number } {
	if (one.of === 'difference') return differenceInterval(differencesOf(one, random));
	const { samples } = one;
	const counts = rightOf(one, random);
	switch (one.of) {
		case 'accuracy':
			return meanInterval(counts.map((right) => right / samples));
		case 'pass@4':
			return meanInterval(counts.map((right) => passAtK(samples, right, 4)));
		case 'cons@3':
			return meanInterval(counts.map((right) => majority(right, samples)));
		case 'gain of cons@3':
			return differenceInterval(counts.map((right) => majority(right, samples) - right / samples));
	}
}

function drawRight(samples: number, p: number, random: Random): number {
	let right = 0;
	for (let i = 0; i < samples; i++) if (random.next() < p) right++;
	return right;
}

function rightOf(one: CoverageCase, random: Random): number[] {
	return Array.from({ length: one.questions }, () =>
		drawRight(one.samples, kinds(one)[random.next() < 0.5 ? 0 : 1], random),
	);
}

/** Cache by number of samples and number of correct ones. */
const majorities = new Map<string, number>();

/** Incorrect samples agree with each other. With so few samples, all subsets are enumerated instead of drawn. */
function majority(right: number, samples: number): number {
	const key = `${right} of ${samples}`;
	const known = majorities.get(key);
	if (known !== undefined) return known;
	const drawn = Array.from(
		{ length: samples },
		(_, i): Sampled => ({ right: i < right, class: i < right ? 0 : 1, final: true, score: null }),
	);
	const value = voteOfK(drawn, 3, false, Random.of('no draws'));
	majorities.set(key, value);
	return value;
}

/** A question that is hard for one side is hard for both. */
function differencesOf(one: CoverageCase, random: Random): number[] {
	const { questions, samples, better = 0 } = one;
	return Array.from({ length: questions }, () => {
		const p = kinds(one)[random.next() < 0.5 ? 0 : 1];
		return (drawRight(samples, p + better, random) - drawRight(samples, p, random)) / samples;
	});
}
