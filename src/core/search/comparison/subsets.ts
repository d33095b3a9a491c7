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

/** Subsets that are drawn where there are too many. */
const drawnSubsets = 256;

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
 * Success of the vote of k samples: each answer has one vote a sample, or the sum of their scores (`weighted`). Exact for
 * k = n and k = 1, else the mean over drawn subsets.
 */
export function voteOfK(samples: readonly Sampled[], k: number, weighted: boolean, random: Random): number {
	const n = samples.length;
	if (k < 1 || n < k) return Number.NaN;
	if (k === n) return vote(samples, weighted);
	if (k === 1) return samples.filter(({ right, final }) => right && final).length / n;
	const order = [...samples];
	let sum = 0;
	for (let draw = 0; draw < drawnSubsets; draw++) {
		// The first k places of a shuffle.
		for (let i = 0; i < k; i++) {
			const j = i + random.int(n - i);
			[order[i], order[j]] = [order[j] as Sampled, order[i] as Sampled];
		}
		sum += vote(order.slice(0, k), weighted);
	}
	return sum / drawnSubsets;
}

/** Share of right samples among those of the answers with the most votes; 0 without any vote. */
function vote(samples: readonly Sampled[], weighted: boolean): number {
	const classes = new Map<number, { votes: number; right: number; all: number }>();
	for (const { class: answer, right, final, score } of samples) {
		if (answer === null || !final) continue;
		const found = classes.get(answer) ?? { votes: 0, right: 0, all: 0 };
		found.votes += weighted ? (score ?? 0) : 1;
		found.all++;
		if (right) found.right++;
		classes.set(answer, found);
	}
	let most = Number.NEGATIVE_INFINITY;
	for (const { votes } of classes.values()) most = Math.max(most, votes);
	let right = 0;
	let all = 0;
	for (const one of classes.values()) {
		// Sums of the same scores in another order differ by rounding.
		if (Math.abs(one.votes - most) > 1e-9 * Math.max(1, Math.abs(most))) continue;
		right += one.right;
		all += one.all;
	}
	return all === 0 ? 0 : right / all;
}
