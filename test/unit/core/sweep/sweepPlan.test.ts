import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseVariedKey, survivors, sweepGrid, sweepPlan, withinBudget } from '../../../../src/core/sweep/sweepPlan.ts';

test('keys with values are parsed as JSON or text', () => {
	assert.deepEqual(parseVariedKey('stages.1.beta=0, 0.02,1e-3'), {
		path: ['stages', '1', 'beta'],
		values: [0, 0.02, 1e-3],
	});
	assert.deepEqual(parseVariedKey('a=grpo,dr_grpo').values, ['grpo', 'dr_grpo']);
	assert.deepEqual(parseVariedKey('a=[1,2],{"b":[3,4]},"x,y",null').values, [[1, 2], { b: [3, 4] }, 'x,y', null]);
	for (const wrong of ['', 'a', '=1', 'a=', 'a=1,', 'a..b=1']) {
		assert.throws(() => parseVariedKey(wrong), { reason: 'invalid' }, wrong);
	}
});

test('the grid has every combination of values and seeds', () => {
	const keys = [parseVariedKey('stages.0.beta=0,0.1'), parseVariedKey('loss=grpo,dapo')];
	assert.deepEqual(
		sweepGrid(keys, [1, 2]).map(({ label }) => label),
		[
			...['beta=0 loss=grpo seed=1', 'beta=0 loss=grpo seed=2', 'beta=0 loss=dapo seed=1', 'beta=0 loss=dapo seed=2'],
			...[
				'beta=0.1 loss=grpo seed=1',
				'beta=0.1 loss=grpo seed=2',
				'beta=0.1 loss=dapo seed=1',
				'beta=0.1 loss=dapo seed=2',
			],
		],
	);
	assert.deepEqual(sweepGrid([], [1, 2]).length, 2);
	const alike = ['stages.0.steps=2', 'stages.1.steps=3', 'beta=0'].map(parseVariedKey);
	assert.equal(sweepGrid(alike, [])[0]?.label, 'stages.0.steps=2 stages.1.steps=3 beta=0');
	assert.deepEqual(sweepGrid(keys, [])[0]?.seed, null);
	assert.throws(() => sweepGrid([], [1]), /nothing to vary/);
	const many = parseVariedKey(`a=${Array.from({ length: 200 }, (_, i) => i).join(',')}`);
	assert.throws(() => sweepGrid([many, many], []), /Too many combinations: 40000/);
});

test('successive halving keeps 1/eta of the runs at each rung, as in Jamieson and Talwalkar (2016)', () => {
	assert.deepEqual(sweepPlan(4, 100, null), { rungs: [100], counts: [4], cost: 400 });
	const plan = sweepPlan(27, 810, { eta: 3, first: 30 });
	assert.deepEqual(
		[plan.rungs, plan.counts],
		[
			[30, 90, 270, 810],
			[27, 9, 3, 1],
		],
	);
	assert.equal(plan.cost, 27 * 30 + 9 * 60 + 3 * 180 + 1 * 540);
	assert.deepEqual(sweepPlan(2, 100, { eta: 4, first: 10 }).counts, [2, 1], 'at least one run remains');
	assert.deepEqual(sweepPlan(5, 100, { eta: 2, first: 80 }).rungs, [100], 'a rung at step 50 would be too early');
});

test('a budget reduces the configurations to a random subset that depends only on the seed', () => {
	const grid = sweepGrid([parseVariedKey('a=1,2,3,4,5,6,7,8')], []);
	const planOf = (count: number) => sweepPlan(count, 100, { eta: 2, first: 25 });
	const kept = withinBudget(grid, planOf, 300, 1);
	assert.ok(planOf(kept.length).cost <= 300 && planOf(kept.length + 1).cost > 300, String(kept.length));
	assert.deepEqual(withinBudget(grid, planOf, 300, 1), kept);
	const order = kept.map(({ label }) => label);
	assert.deepEqual(order, order.toSorted());
	assert.equal(withinBudget(grid, planOf, null, 1).length, 8);
	assert.throws(() => withinBudget(grid, planOf, 99, 1), /One run costs 100 steps/);
});

test('the best scores survive; runs without a score come last, and ties keep their order', () => {
	assert.deepEqual(survivors([0.1, null, 0.5, 0.5], 3), [2, 3, 0]);
	assert.deepEqual(survivors([null, null], 1), [0]);
	assert.deepEqual(survivors([], 3), []);
});
