import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { type AdvantageKeys, advantageSettings } from '../../../../../src/core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../../../../src/core/grpo/advantages/estimate.ts';

function advantages(rewards: readonly (number | null)[], size: number, keys: AdvantageKeys) {
	const rows = rewards.map((reward) => ({ values: [reward], reward }));
	return estimateAdvantages(rows, [1], size, advantageSettings(keys));
}

const near = (actual: number, expected: number, tolerance = 1e-4) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} ${expected}`);

test('maxrl weights groups by the inverse of their success rate', () => {
	const { values } = advantages([1, 0, 0, 0, 1, 1, 1, 0], 4, { advantage_estimator: 'maxrl' });
	for (const [i, expected] of [3, -1, -1, -1, 1 / 3, 1 / 3, 1 / 3, -1].entries()) near(values[i] as number, expected);
});

test('with maxrl, a group whose mean is not positive is dead', () => {
	const { values, dead } = advantages([-1, 0, 0.5, -0.5], 2, { advantage_estimator: 'maxrl' });
	assert.deepEqual([...values], [0, 0, 0, 0]);
	assert.deepEqual(dead, [true, true]);
});

test('pass_at_k learns from a group only while a set of k completions can fail', () => {
	const keys = { advantage_estimator: 'pass_at_k', pass_k: 3 } as const;
	// Three of four correct: every set of three contains a correct one.
	const { values, dead } = advantages([1, 1, 1, 0, 1, 0, 0, 0], 4, keys);
	assert.deepEqual(dead, [true, false]);
	assert.deepEqual([...values.subarray(0, 4)], [0, 0, 0, 0]);
	// One correct completion is in 3 of 4 sets: mean 3/4, SD sqrt(3)/4. Each incorrect one shares 2 of 3 sets with it.
	near(values[4] as number, 0.25 / (Math.sqrt(3) / 4));
	near(values[5] as number, (2 / 3 - 0.75) / (Math.sqrt(3) / 4));
});

test('pass_at_k compares the best of each set, whatever the rewards', () => {
	const random = Random.of('pass at k');
	for (let round = 0; round < 200; round++) {
		const n = 2 + Math.floor(random.next() * 6);
		const k = 1 + Math.floor(random.next() * n);
		const rewards = Array.from({ length: n }, () => Math.round(random.next() * 8) / 8);
		const sets: number[][] = [];
		for (let bits = 0; bits < 1 << n; bits++) {
			const members = [...rewards.keys()].filter((i) => (bits >> i) & 1);
			if (members.length === k) sets.push(members);
		}
		const best = sets.map((members) => Math.max(...members.map((i) => rewards[i] as number)));
		const mean = best.reduce((a, b) => a + b, 0) / best.length;
		const deviation = Math.sqrt(best.reduce((sum, one) => sum + (one - mean) ** 2, 0) / best.length);
		const { values, dead } = advantages(rewards, n, { advantage_estimator: 'pass_at_k', pass_k: k });
		for (const [i, value] of values.entries()) {
			const own = best.filter((_, s) => sets[s]?.includes(i));
			const expected = own.reduce((sum, one) => sum + (one - mean) / (deviation + 1e-6), 0) / own.length;
			near(value, expected, 1e-9);
		}
		near(
			values.reduce((a, b) => a + b, 0),
			0,
			1e-9,
		);
		assert.equal(dead[0], deviation < 1e-12, JSON.stringify({ rewards, k, values: [...values] }));
	}
});

test('rows without a reward are excluded and do not change the advantages of the others', () => {
	for (const keys of [{ advantage_estimator: 'maxrl' }, { advantage_estimator: 'pass_at_k', pass_k: 4 }] as const) {
		const { values, dead } = advantages([1, null, 0, null, null, null, 1, null], 4, keys);
		assert.equal(values[1], 0);
		assert.deepEqual([...values.subarray(4)], [0, 0, 0, 0]);
		assert.equal(dead[1], true);
	}
	const known = advantages([1, 0, 0], 3, { advantage_estimator: 'pass_at_k', pass_k: 2 }).values;
	const among = advantages([1, null, 0, 0], 4, { advantage_estimator: 'pass_at_k', pass_k: 2 }).values;
	assert.deepEqual([among[0], among[2], among[3]], [...known]);
});

test('normalize_then_sum gives each reward function the same influence, whatever its scale', () => {
	const rows = [
		[100, 0],
		[0, 0.01],
		[100, 0.01],
		[0, 0],
	].map((values) => ({ values, reward: (values[0] as number) + (values[1] as number) }));
	const { values, dead } = estimateAdvantages(
		rows,
		[1, 1],
		4,
		advantageSettings({ multi_objective_aggregation: 'normalize_then_sum' }),
	);
	// The second function's SD is 0.0058, so the constant 1e-4 shrinks it by 1.7%.
	near(values[0] as number, values[1] as number, 0.05);
	near(values[2] as number, -(values[3] as number), 1e-9);
	assert.deepEqual(dead, [false]);
	const failed = rows.map((row, i) => (i === 0 ? { ...row, reward: null } : row));
	assert.equal(
		estimateAdvantages(failed, [1, 1], 4, advantageSettings({ multi_objective_aggregation: 'normalize_then_sum' }))
			.values[0],
		0,
	);
});
