import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { countTokens, isSkippable, tokenWeights } from '../../../../src/core/grpo/lossWeights.ts';

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);

describe('token weights', () => {
	// Three completions of 2, 4 and 4 tokens, the last truncated and masked.
	const rows = [
		{ length: 2, masked: false },
		{ length: 4, masked: false },
		{ length: 4, masked: true },
	];
	const by = { maxCompletionLength: 8, generationTokens: countTokens(rows), stepsPerGeneration: 1 };

	it('match the formulas of the four loss types', () => {
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
