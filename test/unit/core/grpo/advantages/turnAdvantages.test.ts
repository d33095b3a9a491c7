import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeAdvantages } from '../../../../../src/core/grpo/advantages/groupAdvantages.ts';
import {
	type RewardedTurns,
	returnsOfTurns,
	turnAdvantages,
} from '../../../../../src/core/grpo/advantages/turnAdvantages.ts';

const lists = (values: readonly Float64Array[]) => values.map((one) => [...one]);
function near(actual: readonly Float64Array[], expected: readonly (readonly number[])[]): void {
	assert.deepEqual(
		actual.map((one) => one.length),
		expected.map((one) => one.length),
	);
	for (const [i, one] of expected.entries()) {
		for (const [k, value] of one.entries()) {
			const own = actual[i]?.[k] as number;
			assert.ok(Math.abs(own - value) < 1e-12, `episode ${i}, turn ${k}: ${own} ${value}`);
		}
	}
}

test('the return of a turn excludes what earlier turns earned, and a turn without a reward earns nothing', () => {
	assert.deepEqual([...returnsOfTurns(1, [0.5, null, 0.25])], [1, 0.5, 0.5]);
	assert.deepEqual([...returnsOfTurns(0, [-0.5, 0, 1])], [0, 0.5, 0.5]);
	assert.deepEqual([...returnsOfTurns(1, [])], []);
});

/**
 * Four episodes, the last without a reward. The returns are 1, 0.5 and 0 in the first turns, 0.5 and 0 in the second,
 * and 0.5 in the third. The squared deviations from the means 0.5 and 0.25 sum to 0.5 and 0.125, with 2 + 1 degrees of
 * freedom.
 */
const group: readonly RewardedTurns[] = [
	{ reward: 1, turns: [0.5, null, 0.25] },
	{ reward: 0.5, turns: [0.5] },
	{ reward: 0, turns: [null, 0.25] },
	{ reward: null, turns: [0.5, null] },
];

test('a turn is compared with the same turn of the other episodes, and all turns share one divisor', () => {
	const std = Math.sqrt(0.625 / 3) + 1e-4;
	near(turnAdvantages(group, 4, 'group'), [[0.5 / std, 0.25 / std, 0], [0], [-0.5 / std, -0.25 / std], [0, 0]]);
	near(turnAdvantages(group, 4, 'none'), [[0.5, 0.25, 0], [0], [-0.5, -0.25], [0, 0]]);
});

test('the divisor can be computed over the batch, and groups do not otherwise affect each other', () => {
	const other = [{ reward: 4, turns: [null] }, { reward: 0, turns: [null] }, ...group.slice(3), ...group.slice(3)];
	const batch = [...group, ...other];
	// The other group adds 8 to the squares and 1 degree of freedom.
	const std = Math.sqrt(8.625 / 4) + 1e-4;
	const expected = [[0.5, 0.25, 0], [0], [-0.5, -0.25], [0, 0], [2], [-2], [0, 0], [0, 0]];
	near(
		turnAdvantages(batch, 4, 'batch'),
		expected.map((one) => one.map((value) => value / std)),
	);
	assert.deepEqual(lists(turnAdvantages(batch, 4, 'group').slice(0, 4)), lists(turnAdvantages(group, 4, 'group')));
});

test('episodes with the same number of turns and no turn rewards have the same advantages as in GRPO', () => {
	const rewards = [1, 0.25, null, 0, 0.75, 0.5, 0.5, 0.5];
	const rows = rewards.map((reward) => ({ reward, turns: [null, null, null] }));
	for (const scale of ['group', 'none'] as const) {
		const { values } = computeAdvantages(rewards, 4, scale);
		near(
			turnAdvantages(rows, 4, scale),
			[...values].map((value) => [value, value, value]),
		);
	}
});

test('groups in which no turn differs have advantages of exactly 0, despite rounding', () => {
	// 0.3 - 0.1 - 0.2 is not 0 in floating-point numbers.
	const equal = [
		{ reward: 0.3, turns: [0.1, 0.2, null] },
		{ reward: 0.3, turns: [0.1, 0.2, 0] },
		{ reward: 0.1 + 0.2, turns: [0.1, 0.1 + 0.1, null] },
	];
	assert.deepEqual(lists(turnAdvantages(equal, 3, 'group')), new Array(3).fill([0, 0, 0]));
	const unknown = [
		{ reward: null, turns: [1, 2] },
		{ reward: null, turns: [] },
	];
	assert.deepEqual(lists(turnAdvantages(unknown, 2, 'group')), [[0, 0], []]);
	assert.deepEqual(lists(turnAdvantages([{ reward: 5, turns: [1, 2] }], 1, 'group')), [[0, 0]]);
});

test('episodes with equal rewards differ at the turns that earn them', () => {
	const early = { reward: 1, turns: [1, null] };
	const late = { reward: 1, turns: [null, 1] };
	// Second turns: 0 and 1.
	const std = Math.sqrt(0.5 / 2) + 1e-4;
	near(turnAdvantages([early, late], 2, 'group'), [
		[0, -0.5 / std],
		[0, 0.5 / std],
	]);
});
