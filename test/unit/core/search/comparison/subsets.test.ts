import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { bestOfK, type Sampled, voteOfK } from '../../../../../src/core/search/comparison/subsets.ts';

function subsets<T>(items: readonly T[], k: number): T[][] {
	if (k === 0) return [[]];
	return items.flatMap((item, i) => subsets(items.slice(i + 1), k - 1).map((rest) => [item, ...rest]));
}

function permutations<T>(items: readonly T[]): T[][] {
	if (items.length === 0) return [[]];
	return items.flatMap((item, i) =>
		permutations([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
	);
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Picks the best sample as a search does: the first with the highest score; without scores, the first with an answer,
 * or else the first.
 */
function firstBest(samples: readonly Sampled[]): number {
	const finals = samples.filter(({ final }) => final);
	let best: Sampled | undefined;
	for (const one of finals) {
		if (one.score !== null && (best === undefined || one.score > (best.score as number))) best = one;
	}
	best ??= finals.find((one) => one.class !== null) ?? finals[0];
	return best?.right ? 1 : 0;
}

/** Picks by vote as a search does: the first answer with the most votes. */
function firstVoted(samples: readonly Sampled[], weighted: boolean): number {
	const votes = new Map<number, { votes: number; right: boolean }>();
	for (const { class: answer, score, final, right } of samples) {
		if (answer === null || !final) continue;
		const group = votes.get(answer) ?? { votes: 0, right };
		group.votes += weighted ? (score ?? 0) : 1;
		votes.set(answer, group);
	}
	let best: { votes: number; right: boolean } | undefined;
	for (const group of votes.values()) if (best === undefined || group.votes > best.votes) best = group;
	return best?.right ? 1 : 0;
}

/** Draws random samples. Only class 0 is correct, because correctness depends only on the answer. */
function drawn(random: Random, n: number): Sampled[] {
	return Array.from({ length: n }, () => {
		const answer = random.int(5) === 0 ? null : random.int(3);
		return {
			class: answer,
			right: answer === 0,
			final: random.int(6) > 0,
			score: random.int(4) === 0 ? null : random.int(3) / 2,
		};
	});
}

describe('estimates over subsets of samples', () => {
	test('equal the mean over searches with every subset in every order', () => {
		const random = Random.of('subsets');
		for (let round = 0; round < 30; round++) {
			const samples = drawn(random, 5);
			for (const k of [1, 2, 3, 5]) {
				const orders = subsets(samples, k).flatMap(permutations);
				const near = (actual: number, expected: number, within: number, what: string) =>
					assert.ok(
						Math.abs(actual - expected) <= within,
						`${what}: ${actual}, ${expected}, ${JSON.stringify(samples)}`,
					);
				near(bestOfK(samples, k), mean(orders.map(firstBest)), 1e-12, `best of ${k}`);
				const exact = k === 5 || k === 1;
				for (const weighted of [false, true]) {
					const estimate = voteOfK(samples, k, weighted, Random.of('draws', round, k));
					near(estimate, mean(orders.map((one) => firstVoted(one, weighted))), exact ? 1e-12 : 0.12, `vote of ${k}`);
				}
			}
		}
	});

	test('sampled subsets approach the mean over all subsets', () => {
		const samples = drawn(Random.of('approach'), 8);
		const all = mean(subsets(samples, 4).map((one) => voteOfK(one, 4, true, Random.of(0))));
		const estimates = Array.from({ length: 60 }, (_, i) => voteOfK(samples, 4, true, Random.of('approach', i)));
		assert.ok(Math.abs(mean(estimates) - all) < 0.02, `${mean(estimates)} ${all}`);
	});

	test('are NaN for more samples than exist, and deterministic for a seed', () => {
		const samples = drawn(Random.of(1), 4);
		assert.ok(Number.isNaN(bestOfK(samples, 5)));
		assert.ok(Number.isNaN(voteOfK(samples, 5, false, Random.of(1))));
		assert.equal(voteOfK(samples, 3, false, Random.of(7)), voteOfK(samples, 3, false, Random.of(7)));
	});
});
