import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { advantageSettings } from '../../src/core/grpo/advantages/advantageSettings.ts';
import { estimateAdvantages } from '../../src/core/grpo/advantages/estimate.ts';
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

/** Written by makeEstimatorGolden.py from TRL 1.13 and the code of the papers' authors. */
const golden: { gdpo: BatchCase[]; passAtK: GroupCase[]; maxrl: GroupCase[] } = JSON.parse(
	readFileSync(process.env.ESTIMATOR_GOLDEN ?? new URL('../fixtures/golden/estimators.json', import.meta.url), 'utf8'),
);

function near(actual: Float64Array, expected: readonly number[], what: string, tolerance: number): void {
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
