import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { clipSide, tokenLoss } from '../../../../src/core/grpo/clippedLoss.ts';
import { klEstimate } from '../../../../src/core/grpo/kl.ts';
import { countTokens, isSkippable, tokenWeights } from '../../../../src/core/grpo/lossWeights.ts';
import { updateMetrics } from '../../../../src/core/grpo/stepMetrics.ts';

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);
const clip = { epsilonLow: 0.2, epsilonHigh: 0.28 };

describe('KL estimators (Schulman 2020; k3 is DeepSeekMath equation 4)', () => {
	it('match hand-computed values', () => {
		// policy 0.5, reference 0.25: log r = -ln 2.
		const [p, q] = [Math.log(0.5), Math.log(0.25)];
		near(klEstimate('k1', p, q), Math.LN2);
		near(klEstimate('k2', p, q), Math.LN2 ** 2 / 2);
		near(klEstimate('k3', p, q), 0.5 - 1 + Math.LN2);
		assert.equal(klEstimate('k3', p, p), 0);
	});

	it('average to the KL divergence (k1 and k3), and k3 is never negative', () => {
		const policy = [0.5, 0.3, 0.2];
		const reference = [0.2, 0.2, 0.6];
		const kl = policy.reduce((sum, p, i) => sum + p * Math.log(p / (reference[i] as number)), 0);
		for (const estimator of ['k1', 'k3'] as const) {
			const mean = policy.reduce(
				(sum, p, i) => sum + p * klEstimate(estimator, Math.log(p), Math.log(reference[i] as number)),
				0,
			);
			near(mean, kl);
		}
		for (let i = 0; i < 1000; i++) {
			const random = Random.of('k3', i);
			const logprob = -10 * random.next();
			assert.ok(klEstimate('k3', logprob, logprob + random.normal() * 10 ** -random.int(12)) >= 0);
		}
	});
});

describe('token loss (PPO equation 7 with two ranges, plus beta k3)', () => {
	const loss = (ratio: number, advantage: number, beta = 0, refRatio = 1) =>
		tokenLoss({
			...clip,
			logprob: Math.log(ratio),
			oldLogprob: 0,
			refLogprob: Math.log(ratio * refRatio),
			advantage,
			beta,
		});

	it('matches hand-computed values inside and outside the range', () => {
		const cases: [ratio: number, advantage: number, loss: number, gradient: number][] = [
			[1, 2, -2, -2],
			[1.1, 2, -2.2, -2.2],
			[1.5, 2, -2.56, 0], // clipped at 1.28
			[1.5, -2, 3, 3], // the minimum is the unclipped side
			[0.5, 2, -1, -1],
			[0.5, -2, 1.6, 0], // clipped at 0.8
			[1, 0, 0, 0],
		];
		for (const [ratio, advantage, expected, gradient] of cases) {
			const token = loss(ratio, advantage);
			near(token.loss, expected);
			near(token.gradient, gradient);
		}
		// beta 0.1, reference twice as likely: k3 = 2 - 1 - ln 2, with gradient 1 - 2.
		const withKl = loss(1, 1, 0.1, 2);
		near(withKl.loss, -1 + 0.1 * (1 - Math.LN2));
		near(withKl.gradient, -1 - 0.1);
	});

	it('has a gradient that matches its value', () => {
		for (let i = 0; i < 500; i++) {
			const random = Random.of('gradient', i);
			const input = {
				...clip,
				logprob: -random.next(),
				oldLogprob: -random.next(),
				refLogprob: -random.next(),
				advantage: random.normal(),
				beta: 0.3,
			};
			const ratio = Math.exp(input.logprob - input.oldLogprob);
			if (Math.abs(ratio - 0.8) < 1e-3 || Math.abs(ratio - 1.28) < 1e-3) continue;
			const at = (logprob: number) => tokenLoss({ ...input, logprob }).loss;
			near(tokenLoss(input).gradient, (at(input.logprob + 1e-6) - at(input.logprob - 1e-6)) / 2e-6, 1e-7);
		}
	});

	it('reports the side on which it was clipped', () => {
		assert.equal(clipSide(Math.log(0.5), 0, -1, clip), 'low');
		assert.equal(clipSide(Math.log(0.5), 0, 1, clip), null);
		assert.equal(clipSide(Math.log(1.5), 0, 1, clip), 'high');
		assert.equal(clipSide(Math.log(1.5), 0, -1, clip), null);
		assert.equal(clipSide(Math.log(1.5), 0, 0, clip), null);
	});
});

describe('token weights', () => {
	// Three completions of 2, 4 and 4 tokens, the last truncated and masked.
	const rows = [
		{ length: 2, masked: false },
		{ length: 4, masked: false },
		{ length: 4, masked: true },
	];
	const by = { maxCompletionLength: 8, generationTokens: countTokens(rows), stepsPerGeneration: 1 };

	it('match the four loss types', () => {
		assert.equal(countTokens(rows), 6);
		// DeepSeekMath equation 3: 1 / (rows |o_i|). TRL includes masked rows in the row count.
		assert.deepEqual([...tokenWeights(rows, { ...by, lossType: 'grpo' })], [1 / 6, 1 / 12, 0]);
		assert.deepEqual([...tokenWeights(rows, { ...by, lossType: 'bnpo' })], [1 / 6, 1 / 6, 0]);
		// Dr. GRPO: 1 / (rows x max_completion_length).
		assert.deepEqual([...tokenWeights(rows, { ...by, lossType: 'dr_grpo' })], [1 / 24, 1 / 24, 0]);
		// DAPO equation 8. In two updates, each accounts for half of the batch's tokens.
		assert.deepEqual([...tokenWeights(rows, { ...by, lossType: 'dapo' })], [1 / 6, 1 / 6, 0]);
		const split = { ...by, generationTokens: 20, stepsPerGeneration: 2, lossType: 'dapo' as const };
		assert.deepEqual([...tokenWeights(rows, split)], [0.1, 0.1, 0]);
	});

	it('give a loss of 0 in the first update for grpo, and minus the length-weighted mean advantage for the others', () => {
		const advantages = [1, -0.5, -0.5];
		const lengths = [
			{ length: 3, masked: false },
			{ length: 5, masked: false },
			{ length: 7, masked: false },
		];
		const first = (lossType: 'grpo' | 'bnpo' | 'dapo' | 'dr_grpo') =>
			tokenWeights(lengths, { lossType, maxCompletionLength: 10, generationTokens: 15, stepsPerGeneration: 1 }).reduce(
				(sum, weight, i) => sum - weight * (lengths[i]?.length ?? 0) * (advantages[i] as number),
				0,
			);
		near(first('grpo'), 0);
		near(first('bnpo'), 3 / 15);
		near(first('dapo'), 3 / 15);
		near(first('dr_grpo'), 3 / 30);
	});

	it('identify rows that can be skipped', () => {
		assert.ok(isSkippable({ weight: 0, advantage: 1 }, 0.1));
		assert.ok(isSkippable({ weight: 1, advantage: 0 }, 0));
		assert.ok(!isSkippable({ weight: 1, advantage: 0 }, 0.1));
		assert.ok(!isSkippable({ weight: 1, advantage: 0.1 }, 0));
	});
});

describe('update metrics', () => {
	const row = (ratios: number[], advantage: number, masked = false) => ({
		masked,
		advantage,
		logprobs: ratios.map(Math.log),
		oldLogprobs: ratios.map(() => 0),
		refLogprobs: ratios.map((ratio) => Math.log(ratio)),
		entropies: ratios.map(() => 0.5),
	});

	it('count clipped tokens over the update and per completion', () => {
		const metrics = updateMetrics([row([0.5, 1, 1, 1], -1), row([1.5, 1.5], 1), row([9, 9, 9], 1, true)], {
			...clip,
			beta: 0,
		});
		assert.deepEqual(metrics, {
			entropy: 0.5,
			'clip_ratio/low_mean': 1 / 6,
			'clip_ratio/low_min': 0,
			'clip_ratio/high_mean': 2 / 6,
			'clip_ratio/high_max': 1,
			'clip_ratio/region_mean': 3 / 6,
		});
	});

	it('are null without valid samples, and include kl only with a KL term', () => {
		const empty = updateMetrics([row([1], 1, true)], { ...clip, beta: 0.1 });
		assert.ok(Object.values(empty).every((value) => value === null));
		assert.ok('kl' in empty);
		assert.equal(updateMetrics([row([1.2], 1)], { ...clip, beta: 0.1 }).kl, 0);
	});
});
