import { Random } from '../../src/base/random.ts';
import { differenceInterval } from '../../src/core/evaluation/differenceInterval.ts';
import { meanInterval } from '../../src/core/evaluation/meanInterval.ts';
import { signFlipTest } from '../../src/core/evaluation/pairedTest.ts';
import { passAtK } from '../../src/core/evaluation/passAtK.ts';
import { type Sampled, voteOfK } from '../../src/core/search/comparison/subsets.ts';

/** What is simulated: evaluations whose truth is known. */
export interface CoverageCase {
	/** What an interval is put about. */
	readonly of: 'accuracy' | 'pass@4' | 'cons@3' | 'gain of cons@3' | 'difference';
	readonly questions: number;
	/** Of each question. */
	readonly samples: number;
	/** Mean share of right samples. Of a difference: of the first side. */
	readonly p: number;
	/**
	 * How far questions lie apart, 0 to 1: half of them are by this share of the way to 0 or 1, whichever is nearer, harder
	 * than the mean, the others easier.
	 */
	readonly apart: number;
	/** Of a difference: by how much the second side is better. */
	readonly better?: number;
}

/** How often, of so many evaluations, the 95% interval holds the truth, and how wide it is in the mean. */
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

/** Of so many comparisons of two runs that are equally good: how often p is below 0.05. */
export function falsePositives(one: Omit<CoverageCase, 'of'>, trials: number): number {
	const random = Random.of('false positives', one.questions, one.samples, one.p, one.apart);
	let found = 0;
	for (let trial = 0; trial < trials; trial++) {
		if (signFlipTest(differencesOf({ ...one, of: 'difference' }, random)) < 0.05) found++;
	}
	return found / trials;
}

/** The two kinds of questions, each as frequent. */
function kinds({ p, apart }: CoverageCase): readonly [number, number] {
	const step = apart * Math.min(p, 1 - p);
	return [p - step, p + step];
}

const majorityOf3 = (p: number) => p ** 3 + 3 * p ** 2 * (1 - p);

/** What a perfect interval would be a point at. */
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

/** By samples and how many of them are right. */
const majorities = new Map<string, number>();

/** The wrong samples agree, too. So few samples are looked at in all their subsets: nothing is drawn. */
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

/** What makes a question hard is hard for both sides. */
function differencesOf(one: CoverageCase, random: Random): number[] {
	const { questions, samples, better = 0 } = one;
	return Array.from({ length: questions }, () => {
		const p = kinds(one)[random.next() < 0.5 ? 0 : 1];
		return (drawRight(samples, p + better, random) - drawRight(samples, p, random)) / samples;
	});
}
