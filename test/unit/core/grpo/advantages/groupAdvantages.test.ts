import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { computeAdvantages } from '../../../../../src/core/grpo/advantages/groupAdvantages.ts';

const near = (actual: ArrayLike<number>, expected: readonly number[], tolerance = 1e-9) => {
	assert.equal(actual.length, expected.length);
	for (let i = 0; i < expected.length; i++) {
		assert.ok(
			Math.abs((actual[i] as number) - (expected[i] as number)) <= tolerance,
			`${i}: ${actual[i]} not ${expected[i]}`,
		);
	}
};

describe('advantages', () => {
	it('are (r - mean) / (std + 1e-4) with the sample standard deviation: DeepSeekMath 4.1.2, TRL grpo_trainer.py', () => {
		// Rewards 1, 0, 0, 0: mean 0.25, squares 0.5625 + 3 x 0.0625 = 0.75, over 3 = 0.25, standard deviation 0.5.
		near(computeAdvantages([1, 0, 0, 0], 4, 'group').values, [
			0.75 / 0.5001,
			-0.25 / 0.5001,
			-0.25 / 0.5001,
			-0.25 / 0.5001,
		]);
		// Rewards 2, 0: mean 1, squares 2, over 1 = 2, standard deviation sqrt 2.
		near(computeAdvantages([2, 0], 2, 'group').values, [1 / (Math.SQRT2 + 1e-4), -1 / (Math.SQRT2 + 1e-4)]);
	});

	it('are divided by the batch standard deviation, or not scaled (Dr. GRPO)', () => {
		// Batch 1, 0, 3, 0: mean 1, squares 0 + 1 + 4 + 1 = 6, over 3 = 2, standard deviation sqrt 2.
		const divisor = Math.SQRT2 + 1e-4;
		near(computeAdvantages([1, 0, 3, 0], 2, 'batch').values, [
			0.5 / divisor,
			-0.5 / divisor,
			1.5 / divisor,
			-1.5 / divisor,
		]);
		near(computeAdvantages([1, 0, 3, 0], 2, 'none').values, [0.5, -0.5, 1.5, -1.5]);
	});

	it('are exactly 0 in a dead group, without rounding residue', () => {
		const rewards = Array<number>(8).fill(0.3);
		for (const scale of ['group', 'batch', 'none'] as const) {
			const { values, dead } = computeAdvantages([...rewards, 1, 0, 0, 0, 0, 0, 0, 0], 8, scale);
			assert.deepEqual(dead, [true, false]);
			assert.ok([...values.subarray(0, 8)].every((value) => Object.is(value, 0)));
			assert.ok((values[8] as number) > 0);
		}
	});

	it('skip rows without a reward and groups with fewer than two rewards', () => {
		// For 1, null, 0: mean 0.5, standard deviation sqrt(0.5).
		const divisor = Math.sqrt(0.5) + 1e-4;
		const { values, dead, groupStd } = computeAdvantages([1, null, 0, 5, null, null], 3, 'group');
		near(values, [0.5 / divisor, 0, -0.5 / divisor, 0, 0, 0]);
		assert.deepEqual(dead, [false, true]);
		assert.ok(Number.isNaN(groupStd[1]));
		assert.deepEqual([...computeAdvantages([null, null], 2, 'batch').values], [0, 0]);
		assert.deepEqual([...computeAdvantages([1], 1, 'group').values], [0]);
	});

	it('sum to 0 in each group and do not change if a constant is added', () => {
		for (let i = 0; i < 200; i++) {
			const random = Random.of('advantages', i);
			const size = random.between(2, 9);
			const rewards = Array.from({ length: size * random.between(1, 4) }, () => random.next());
			const scale = random.pick(['group', 'batch', 'none'] as const);
			const { values } = computeAdvantages(rewards, size, scale);
			for (let g = 0; g < rewards.length; g += size) {
				assert.ok(Math.abs(values.subarray(g, g + size).reduce((a, b) => a + b, 0)) < 1e-9);
			}
			near(
				computeAdvantages(
					rewards.map((reward) => reward + 7),
					size,
					scale,
				).values,
				[...values],
				1e-9,
			);
		}
	});

	it('require complete groups', () => {
		assert.throws(() => computeAdvantages([1, 2, 3], 2, 'group'), RangeError);
		assert.throws(() => computeAdvantages([1], 0, 'group'), RangeError);
	});
});
