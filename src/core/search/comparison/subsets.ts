import type { Random } from '../../../base/random.ts';

/** One sample for a problem, used for estimates over subsets. */
export interface Sampled {
	readonly right: boolean;
	/** Class of the sample's answer; null if it states none. */
	readonly class: number | null;
	/** Whether the sample finished; unfinished samples are neither selected nor counted. */
	readonly final: boolean;
	/** Score from the scorer used for selection; null if there is none. */
	readonly score: number | null;
}

/*
 * Estimates the result of a strategy that selects among k samples, given n >= k samples for the problem: the mean over
 * all subsets of size k, or over a random draw of subsets. This U-statistic is unbiased, like a separate search with k
 * samples, but has lower variance (Hoeffding 1948; pass@k in Chen et al. 2021 is the case "at least one is correct").
 * Samples are exchangeable, so each tied sample is equally likely to come first, and a strategy that selects the first
 * one succeeds with probability equal to the fraction of correct samples in the tie.
 */

/** Maximum number of subsets to enumerate; if there are more, this many are drawn at random. */
const maxSubsets = 2048;
const drawnSubsets = 512;

/**
 * Success probability of the best of k by score: the sum over distinct scores of the probability that the best sample
 * in the subset has that score, (C(samples at or below the score, k) - C(samples below the score, k)) / C(n, k), times
 * the fraction of correct samples among those with that score. Without scores, the first sample that states an answer
 * is selected, as in `bestFinal`.
 */
export function bestOfK(samples: readonly Sampled[], k: number): number {
	const n = samples.length;
	if (k < 1 || n < k) return Number.NaN;
	const levels = new Map<number, { right: number; all: number }>();
	for (const sample of samples) {
		const level = levelOf(sample);
		const found = levels.get(level) ?? { right: 0, all: 0 };
		found.all++;
		// Samples that are never selected count as incorrect.
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

/**
 * Orders samples by score, followed by final samples with an answer, final samples without one, and unfinished samples.
 */
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
 * Success probability of a vote among k samples: each sample votes for its answer with weight 1 or, if `weighted`, with
 * its score. Averages over all subsets, or over random subsets if there are more than {@link maxSubsets}.
 */
export function voteOfK(samples: readonly Sampled[], k: number, weighted: boolean, random: Random): number {
	const n = samples.length;
	if (k < 1 || n < k) return Number.NaN;
	const ballot = new Ballot(samples, weighted);
	const chosen = Int32Array.from({ length: k }, (_, i) => i);
	let sum = 0;
	let count = 0;
	if (subsets(n, k) <= maxSubsets) {
		do {
			sum += ballot.vote(chosen);
			count++;
		} while (nextSubset(chosen, n));
		return sum / count;
	}
	const order = Int32Array.from({ length: n }, (_, i) => i);
	for (; count < drawnSubsets; count++) {
		// Shuffles the first k positions.
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

/** C(n, k), capped. */
function subsets(n: number, k: number): number {
	let count = 1;
	for (let i = 1; i <= k && count <= maxSubsets * n; i++) count = (count * (n - k + i)) / i;
	return Math.round(count);
}

/** Advances to the next subset in lexicographic order; returns false after the last. */
function nextSubset(chosen: Int32Array, n: number): boolean {
	const k = chosen.length;
	let i = k - 1;
	while (i >= 0 && chosen[i] === n - k + i) i--;
	if (i < 0) return false;
	chosen[i] = (chosen[i] as number) + 1;
	for (let j = i + 1; j < k; j++) chosen[j] = (chosen[j - 1] as number) + 1;
	return true;
}

/** Vote counter that reuses its arrays, because a summary evaluates millions of votes. */
class Ballot {
	/** Answer index of each sample; -1 if it does not vote. */
	readonly #answer: Int32Array;
	readonly #weight: Float64Array;
	readonly #right: Uint8Array;
	/** Value by which a sample is selected if none votes: -Infinity without a score, NaN if it did not finish. */
	readonly #value: Float64Array;
	/** Votes per answer in the current subset. */
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
		this.#value = Float64Array.from(samples, ({ score, final }) =>
			final ? (score ?? Number.NEGATIVE_INFINITY) : Number.NaN,
		);
		this.#votes = new Float64Array(places.size);
		this.#rights = new Int32Array(places.size);
		this.#all = new Int32Array(places.size);
	}

	/** Returns the fraction of correct samples among those with a winning answer. */
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
		let max = Number.NEGATIVE_INFINITY;
		for (let i = 0; i < all.length; i++) {
			if ((all[i] as number) > 0 && (votes[i] as number) > max) max = votes[i] as number;
		}
		// Summing the same scores in a different order can change the rounding.
		const min = max - 1e-9 * Math.max(1, Math.abs(max));
		let right = 0;
		let even = 0;
		for (let i = 0; i < all.length; i++) {
			if ((all[i] as number) === 0 || (votes[i] as number) < min) continue;
			right += rights[i] as number;
			even += all[i] as number;
		}
		return even === 0 ? this.#withoutVotes(chosen) : right / even;
	}

	/**
	 * Returns the fraction of correct samples among the finished ones with the highest score, one of which is selected if
	 * no sample states an answer, as is usual for episodes; 0 if none finished.
	 */
	#withoutVotes(chosen: Int32Array): number {
		let [max, right, even] = [Number.NEGATIVE_INFINITY, 0, 0];
		for (const sample of chosen) {
			const value = this.#value[sample] as number;
			if (value > max) [max, right, even] = [value, 0, 0];
			if (value !== max) continue;
			right += this.#right[sample] as number;
			even++;
		}
		return even === 0 ? 0 : right / even;
	}
}
