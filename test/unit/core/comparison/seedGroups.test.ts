import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CurvePoints } from '../../../../src/core/comparison/runCurves.ts';
import { highOf, lowOf, meanOfRuns, seedGroups } from '../../../../src/core/comparison/seedGroups.ts';

test('runs belong together if their recipes differ only in seed, name and resources', () => {
	const recipe = { name: 'a', seed: 1, workers: 2, stages: [{ type: 'grpo', beta: 0 }] };
	const other = { ...recipe, stages: [{ type: 'grpo', beta: 0.1 }] };
	const groups = seedGroups([
		recipe,
		other,
		// The order of keys does not matter.
		{ stages: [{ beta: 0, type: 'grpo' }], workers: 4, seed: 2, name: 'b' },
		undefined,
		undefined,
		{ ...other, seed: 3 },
		{ ...recipe, model: { layers: 2 } },
		'text',
	]);
	assert.deepEqual(groups, [0, 1, 0, null, null, 1, null, null]);
	assert.deepEqual(seedGroups([recipe, other]), [null, null]);
});

const pointsOf = (step: number[], more: Partial<CurvePoints>): CurvePoints => ({
	step: Float64Array.from(step),
	time: Float64Array.from(step, (at) => 1000 + at),
	tokens: Float64Array.from(step, (at) => 10 * at),
	names: [],
	values: [],
	rowsPerPoint: 1,
	...more,
});

test('the mean and sample standard deviation are computed only where all runs have a value', () => {
	const { NaN: none } = Number;
	const mean = meanOfRuns([
		pointsOf([1, 2, 3, 4], {
			names: ['reward', 'alone'],
			values: [Float64Array.of(1, 2, 3, 4), Float64Array.of(1, 1, 1, 1)],
		}),
		pointsOf([1, 2, 4], {
			names: ['reward'],
			values: [Float64Array.of(2, none, 8)],
			time: Float64Array.of(50, 60, 90),
		}),
		pointsOf([1, 2, 3, 4, 5], { names: ['reward'], values: [Float64Array.of(3, 4, 5, 6, 7)], rowsPerPoint: 2 }),
	]);
	assert.deepEqual([...mean.step], [1, 2, 4]);
	assert.deepEqual(mean.names, ['reward', lowOf('reward'), highOf('reward')]);
	const [center, low, high] = mean.values;
	assert.deepEqual([...(center ?? [])], [2, none, 6]);
	// The sample standard deviation of 1, 2, 3 is 1, and that of 4, 8, 6 is 2.
	assert.deepEqual([...(low ?? [])], [1, none, 4]);
	assert.deepEqual([...(high ?? [])], [3, none, 8]);
	// Seconds since the first point: 3, 40 and 3 at step 4.
	assert.deepEqual(
		[...mean.time].map((time) => Number(time.toFixed(3))),
		[0, 4, 15.333],
	);
	assert.deepEqual([...mean.tokens], [10, 20, 40]);
	assert.equal(mean.rowsPerPoint, 2);
});
