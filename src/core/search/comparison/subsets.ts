import type { Random } from '../../../base/random.ts';

/** One sample of a problem, as estimates over subsets of samples see it. */
export interface Sampled {
	readonly right: boolean;
	/** Number of its answer's class; null: it states none. */
	readonly class: number | null;
	/** It has come to its end: others are neither chosen nor counted. */
	readonly final: boolean;
	/** Of the scorer that chooses; null: it has none. */
	readonly score: number | null;
}

/*
 * What a strategy that chooses among k samples would give, estimated from n >= k samples of the problem: the mean over all
 * subsets of k, or over so many of them that were drawn. It is the U-statistic of the strategy's success, as unbiased as a
 * search of its own with k samples would be, and of less variance (Hoeffding 1948; pass@k of Chen et al. 2021 is the one of
 * "some is right"). Samples are exchangeable, so that each of several that are even is as likely the first: a strategy that
 * takes the first succeeds as often as the share of right samples among the even.
 */

/** Up to so many subsets, all are looked at; of more, so many are drawn. */
const mostSubsets = 2048;
const drawnSubsets = 512;

/**
 * Success of the best of k by score: the sum over distinct scores of the probability that the subset's best is of that
 * score, C(at most it, k) - C(below it, k) over C(n, k), times the share of right samples of that score.
 * Without scores the first that states an answer counts, as in `bestFinal`.
 */
export function bestOfK(samples: readonly Sampled[], k: number): number {
	const n = samples.length;
	if (k < 1 || n < k) return Number.NaN;
	const levels = new Map<number, { right: number; all: number }>();
	for (const sample of samples) {
		const level = levelOf(sample);
		const found = levels.get(level) ?? { right: 0, all: 0 };
		found.all++;
		// What is not chosen at all is wrong.
		if (sample.right && sample.final) found.right++;
		levels.set(level, found);
	}
	let below = 0;
	let success = 0;
	for (const [, { right, all }] of [...levels].sort(([a], [b]) => a - b)) {
		const chosen = subsetShare(below + all, n, k) - subsetShare(below, n, k);
		success += chosen * (right / all);
		below += all;
	}
	return success;
}

/** Scores in their order; below them final samples with an answer, without one, and what has not come to its end. */
function levelOf({ score, class: answer, final }: Sampled): number {
	if (!final) return Number.NEGATIVE_INFINITY;
	if (score !== null) return Math.max(-Number.MAX_VALUE / 2, score);
	return answer === null ? -Number.MAX_VALUE : -Number.MAX_VALUE * 0.75;
}

/** C(m, k) / C(n, k) for m <= n. */
function subsetShare(m: number, n: number, k: number): number {
	let share = 1;
	for (let i = 0; i < k; i++) {
		if (m - i <= 0) return 0;
		share *= (m - i) / (n - i);
	}
	return share;
}

/**
 * Success of the vote of k samples: each answer has one vote a sample, or the sum of their scores (`weighted`). The mean over
 * all subsets, or over drawn ones where there are more than {@link mostSubsets}.
 */
export function voteOfK(samples: readonly Sampled[], k: number, weighted: boolean, random: Random): number {
	const n = samples.length;
	if (k < 1 || n < k) return Number.NaN;
	const ballot = new Ballot(samples, weighted);
	const chosen = Int32Array.from({ length: k }, (_, i) => i);
	let sum = 0;
	let count = 0;
	if (subsets(n, k) <= mostSubsets) {
		do {
			sum += ballot.vote(chosen);
			count++;
		} while (nextSubset(chosen, n));
		return sum / count;
	}
	const order = Int32Array.from({ length: n }, (_, i) => i);
	for (; count < drawnSubsets; count++) {
		// The first k places of a shuffle.
		for (let i = 0; i < k; i++) {
			const j = i + random.int(n - i);
			const taken = order[j] as number;
			order[j] = order[i] as number;
			order[i] = taken;
		}
		sum += ballot.vote(order.subarray(0, k));
	}
	return sum / count;
}

/** C(n, k), or more than enough. */
function subsets(n: number, k: number): number {
	let count = 1;
	for (let i = 1; i <= k && count <= mostSubsets * n; i++) count = (count * (n - k + i)) / i;
	return Math.round(count);
}

/** The next subset in the order of the words that they make; false after the last. */
function nextSubset(chosen: Int32Array, n: number): boolean {
	const k = chosen.length;
	let i = k - 1;
	while (i >= 0 && chosen[i] === n - k + i) i--;
	if (i < 0) return false;
	chosen[i] = (chosen[i] as number) + 1;
	for (let j = i + 1; j < k; j++) chosen[j] = (chosen[j - 1] as number) + 1;
	return true;
}

/** Votes of samples, in arrays that are made once: a summary counts millions of them. */
class Ballot {
	/** By sample: its answer's place among the answers of all; -1: no vote. */
	readonly #answer: Int32Array;
	readonly #weight: Float64Array;
	readonly #right: Uint8Array;
	/** By answer, of the samples that vote now. */
	readonly #votes: Float64Array;
	readonly #rights: Int32Array;
	readonly #all: Int32Array;

	constructor(samples: readonly Sampled[], weighted: boolean) {
		const places = new Map<number, number>();
		this.#answer = Int32Array.from(samples, ({ class: answer, final }) => {
			if (answer === null || !final) return -1;
			const place = places.get(answer) ?? places.size;
			places.set(answer, place);
			return place;
		});
		this.#weight = Float64Array.from(samples, ({ score }) => (weighted ? (score ?? 0) : 1));
		this.#right = Uint8Array.from(samples, ({ right }) => (right ? 1 : 0));
		this.#votes = new Float64Array(places.size);
		this.#rights = new Int32Array(places.size);
		this.#all = new Int32Array(places.size);
	}

	/** Share of right samples among those of the answers with the most votes; 0 without any vote. */
	vote(chosen: Int32Array): number {
		const votes = this.#votes.fill(0);
		const rights = this.#rights.fill(0);
		const all = this.#all.fill(0);
		for (const sample of chosen) {
			const answer = this.#answer[sample] as number;
			if (answer < 0) continue;
			votes[answer] = (votes[answer] as number) + (this.#weight[sample] as number);
			rights[answer] = (rights[answer] as number) + (this.#right[sample] as number);
			all[answer] = (all[answer] as number) + 1;
		}
		let most = Number.NEGATIVE_INFINITY;
		for (let i = 0; i < all.length; i++) {
			if ((all[i] as number) > 0 && (votes[i] as number) > most) most = votes[i] as number;
		}
		// Sums of the same scores in another order differ by rounding.
		const least = most - 1e-9 * Math.max(1, Math.abs(most));
		let right = 0;
		let even = 0;
		for (let i = 0; i < all.length; i++) {
			if ((all[i] as number) === 0 || (votes[i] as number) < least) continue;
			right += rights[i] as number;
			even += all[i] as number;
		}
		return even === 0 ? 0 : right / even;
	}
}
