import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { advantageSettings } from '../../src/core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../src/core/grpo/advantages/estimate.ts';
import { defaultObjective } from '../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../src/core/grpo/objective/rowLoss.ts';
import { updateMetrics } from '../../src/core/grpo/stepMetrics.ts';
import { tokenFactors, tokenPenalties } from '../../src/core/grpo/tokenSelection/tokenFactors.ts';
import { combineRewards } from '../../src/core/reward/combineRewards.ts';

interface GroupCase {
	rewards: number[];
	k?: number;
	advantages: number[];
}

interface BatchCase {
	rewards: (number | null)[][];
	weights: number[];
	size: number;
	advantages: number[];
}

interface EntropyCase {
	entropies: number[][];
	share: number;
	selected: number[][];
}

interface CovarianceCase {
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	lowest: number;
	highest: number;
	loss: number;
	gradients: number[][];
}

interface DppoCase {
	kind: 'dppo_tv' | 'dppo_kl';
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	low: number;
	high: number;
	loss: number;
	gradients: number[][];
	leftOut: number;
}

interface PenaltyCase {
	logprobs: number[][];
	old: number[][];
	advantages: number[];
	share: number;
	coefficient: number;
	loss: number;
	gradients: number[][];
}

interface Golden {
	gdpo: BatchCase[];
	passAtK: GroupCase[];
	maxrl: GroupCase[];
	topEntropy: EntropyCase[];
	clipCov: CovarianceCase[];
	dppo: DppoCase[];
	klCov: PenaltyCase[];
}

/** Written by makeEstimatorGolden.py from TRL 1.13 and the code of the papers' authors. */
const golden: Golden = JSON.parse(
	readFileSync(process.env.ESTIMATOR_GOLDEN ?? new URL('../fixtures/golden/estimators.json', import.meta.url), 'utf8'),
);

function near(actual: ArrayLike<number>, expected: readonly number[], what: string, tolerance: number): void {
	assert.equal(actual.length, expected.length);
	for (const [i, value] of expected.entries()) {
		assert.ok(
			Math.abs((actual[i] as number) - value) <= tolerance * Math.max(1, Math.abs(value)),
			`${what}, row ${i}: ${actual[i]}, expected ${value}`,
		);
	}
}

test("GDPO has TRL's advantages", () => {
	for (const [i, { rewards, weights, size, advantages }] of golden.gdpo.entries()) {
		const rows = rewards.map((values) => ({ values, reward: combineRewards(values, weights) }));
		const settings = advantageSettings({ multi_objective_aggregation: 'normalize_then_sum' });
		// TRL counts values in single precision.
		near(estimateAdvantages(rows, weights, size, settings).values, advantages, `case ${i}`, 1e-7);
	}
});

for (const estimator of ['pass_at_k', 'maxrl'] as const) {
	test(`${estimator} has the advantages of its authors' code`, () => {
		for (const [i, { rewards, k, advantages }] of golden[estimator === 'maxrl' ? 'maxrl' : 'passAtK'].entries()) {
			const rows = rewards.map((reward) => ({ values: [reward], reward }));
			const settings = advantageSettings({ advantage_estimator: estimator, pass_k: k });
			// The code for MaxRL computes means in single precision.
			const { values } = estimateAdvantages(rows, [1], rows.length, settings);
			near(values, advantages, `case ${i}`, estimator === 'maxrl' ? 1e-6 : 1e-9);
		}
	});
}

test("the tokens with the highest entropies are TRL's", () => {
	for (const [i, { entropies, share, selected }] of golden.topEntropy.entries()) {
		const rows = entropies.map((own) => ({
			masked: false,
			advantage: 1,
			entropies: Float32Array.from(own),
			logprobs: own,
			oldLogprobs: null,
		}));
		const factors = tokenFactors(rows, { topEntropy: share, clipCov: null }, defaultObjective, Random.of(1));
		assert.deepEqual(
			factors.map((row) => [...row]),
			selected,
			`case ${i}, share ${share}`,
		);
	}
});

test("Clip-Cov has verl's losses and gradients", () => {
	let excluded = 0;
	for (const [i, { logprobs, old, advantages, lowest, highest, loss, gradients }] of golden.clipCov.entries()) {
		const objective = { ...defaultObjective, epsilonLow: 0.2, epsilonHigh: 0.28 };
		const rows = logprobs.map((own, r) => ({
			masked: false,
			advantage: advantages[r] as number,
			entropies: own,
			logprobs: own,
			oldLogprobs: old[r] as number[],
			refLogprobs: null,
		}));
		const clipCov = { ratio: 1, lowest, highest };
		const factors = tokenFactors(rows, { topEntropy: null, clipCov }, objective, Random.of(i));
		const tokens = logprobs.flat().length;
		let sum = 0;
		for (const [r, row] of rows.entries()) {
			const own = rowLoss({ ...row, factors: factors[r] as Float32Array }, objective);
			sum += own.losses.reduce((a, b) => a + b, 0) / tokens;
			near(
				own.gradients.map((gradient) => gradient / tokens),
				gradients[r] as number[],
				`case ${i}, gradient of row ${r}`,
				1e-7,
			);
		}
		near([sum], [loss], `case ${i}, loss`, 1e-7);
		excluded += factors.reduce((n, row) => n + row.filter((factor) => factor === 0).length, 0);
	}
	assert.ok(excluded > golden.clipCov.length / 4, `${excluded} tokens were excluded`);
});

test("DPPO has verl's losses, gradients and fractions of tokens left out", () => {
	let leftOutInAll = 0;
	for (const [i, { kind, logprobs, old, advantages, low, high, loss, gradients, leftOut }] of golden.dppo.entries()) {
		const objective = { ...defaultObjective, lossType: kind, epsilonLow: low, epsilonHigh: high };
		const rows = logprobs.map((own, r) => ({
			...{ masked: false, logprobs: own, entropies: own, refLogprobs: null },
			advantage: advantages[r] as number,
			oldLogprobs: old[r] as number[],
		}));
		const tokens = logprobs.flat().length;
		let sum = 0;
		for (const [r, row] of rows.entries()) {
			const own = rowLoss(row, objective);
			sum += own.losses.reduce((a, b) => a + b, 0) / tokens;
			near(
				own.gradients.map((gradient) => gradient / tokens),
				gradients[r] as number[],
				`case ${i} (${kind}), gradient of row ${r}`,
				1e-7,
			);
		}
		near([sum], [loss], `case ${i} (${kind}), loss`, 1e-7);
		near(
			[updateMetrics(rows, objective)['clip_ratio/region_mean'] ?? Number.NaN],
			[leftOut],
			`case ${i}, left out`,
			1e-6,
		);
		leftOutInAll += leftOut;
	}
	assert.ok(leftOutInAll / golden.dppo.length > 0.1, 'some tokens are left out');
});

test("KL-Cov has verl's losses and gradients", () => {
	const objective = { ...defaultObjective, epsilonLow: 1e9, epsilonHigh: 1e9 };
	for (const [i, { logprobs, old, advantages, share, coefficient, loss, gradients }] of golden.klCov.entries()) {
		const rows = logprobs.map((own, r) => ({
			...{ masked: false, logprobs: own, entropies: own, refLogprobs: null },
			advantage: advantages[r] as number,
			oldLogprobs: old[r] as number[],
		}));
		const penalties = tokenPenalties(rows, { share, coefficient });
		const tokens = logprobs.flat().length;
		let sum = 0;
		for (const [r, row] of rows.entries()) {
			const own = rowLoss({ ...row, penalties: penalties[r] as Float32Array }, objective);
			sum += own.losses.reduce((a, b) => a + b, 0) / tokens;
			near(
				own.gradients.map((gradient) => gradient / tokens),
				gradients[r] as number[],
				`case ${i}, gradient of row ${r}`,
				1e-7,
			);
		}
		near([sum], [loss], `case ${i}, loss`, 1e-7);
	}
});
