import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import type { GroupSummary } from '../../../../src/protocol/rolloutsMessages.ts';
import {
	activeFilters,
	type Filters,
	filterGroups,
	foundFromColumns,
	noFilters,
	parseBound,
} from '../../../../webview/rollouts/filters.ts';
import { sortGroups, sortRows } from '../../../../webview/rollouts/order.ts';

function group(changes: Partial<GroupSummary> & { group: number }): GroupSummary {
	const size = changes.reward?.length ?? changes.index?.length ?? 4;
	const filled = <T>(value: T): T[] => Array.from({ length: size }, () => value);
	return {
		prompt: '1+1=',
		answer: '2',
		index: Array.from({ length: size }, (_, i) => i),
		reward: filled(0),
		advantage: filled(0),
		truncated: filled(false),
		length: filled(10),
		correct: filled(null),
		mean: 0,
		std: 0,
		dead: false,
		...changes,
	};
}

const mixed = group({
	group: 7,
	reward: [1.2, 0.2, null, -1],
	advantage: [1.5, 0, null, -0.9],
	truncated: [false, false, true, false],
	correct: [true, false, null, false],
	length: [30, 31, 40, 5],
});

function passing(
	filters: Partial<Filters>,
	groups: readonly GroupSummary[] = [mixed],
	found = null as never,
): number[] {
	return filterGroups(groups, { ...noFilters, ...filters }, found).flatMap(({ summary, rows }) =>
		rows.map((row) => summary.index[row] as number),
	);
}

test('each filter keeps exactly the matching rows', () => {
	assert.deepEqual(passing({}), [0, 1, 2, 3]);
	assert.deepEqual(passing({ rewardLow: 0.2 }), [0, 1]);
	assert.deepEqual(passing({ rewardHigh: 0.2 }), [1, 3]);
	assert.deepEqual(passing({ rewardLow: -1, rewardHigh: 0.5 }), [1, 3]);
	assert.deepEqual(passing({ advantage: 'positive' }), [0]);
	assert.deepEqual(passing({ advantage: 'zero' }), [1]);
	assert.deepEqual(passing({ advantage: 'negative' }), [3]);
	assert.deepEqual(passing({ correctness: 'correct' }), [0]);
	assert.deepEqual(passing({ correctness: 'wrong' }), [1, 3]);
	assert.deepEqual(passing({ truncation: 'truncated' }), [2]);
	assert.deepEqual(passing({ truncation: 'complete' }), [0, 1, 3]);
	assert.deepEqual(passing({ advantage: 'negative', correctness: 'correct' }), []);
});

test('dead groups can be hidden, and a group without a matching row is omitted', () => {
	const dead = group({ group: 1, dead: true });
	assert.deepEqual(
		filterGroups([dead, mixed], { ...noFilters, hideDead: true }, null).map(({ summary }) => summary.group),
		[7],
	);
	assert.deepEqual(filterGroups([dead, mixed], { ...noFilters, rewardLow: 5 }, null), []);
});

test('text search keeps matching rollouts and counts occurrences; until results arrive, all match', () => {
	const found = foundFromColumns({ group: [7, 7, 8], index: [0, 3, 0], count: [2, 1, 9] });
	const [only] = filterGroups([mixed], { ...noFilters, text: 'wait' }, found);
	assert.deepEqual(only?.rows, [0, 3]);
	assert.equal(only?.occurrences, 3);
	assert.deepEqual(passing({ text: 'wait' }), [0, 1, 2, 3]);
	assert.deepEqual(
		filterGroups([mixed], { ...noFilters, text: 'wait' }, foundFromColumns({ group: [], index: [], count: [] })),
		[],
	);
});

test('active filters are counted by condition', () => {
	assert.equal(activeFilters(noFilters), 0);
	assert.equal(activeFilters({ ...noFilters, rewardLow: 0, rewardHigh: 1, text: 'x', hideDead: true }), 3);
});

test('bounds are parsed in the formats people use', () => {
	assert.equal(parseBound(' 0,5 '), 0.5);
	assert.equal(parseBound('\u22121'), -1);
	assert.equal(parseBound(''), 'none');
	assert.equal(parseBound('abc'), null);
	assert.equal(parseBound('1e999'), null);
});

test('rows are sorted in descending order with missing values last and ties by index', () => {
	const rows = [3, 2, 1, 0];
	assert.deepEqual(sortRows(mixed, rows, 'index'), [0, 1, 2, 3]);
	assert.deepEqual(sortRows(mixed, rows, 'reward'), [0, 1, 3, 2]);
	assert.deepEqual(sortRows(mixed, rows, 'advantage'), [0, 1, 3, 2]);
	assert.deepEqual(sortRows(mixed, rows, 'length'), [2, 1, 0, 3]);
	assert.deepEqual(sortRows(group({ group: 0 }), [2, 0, 1], 'reward'), [0, 1, 2]);
});

test('groups are sorted by mean, spread or fraction correct, with ties in file order', () => {
	const groups = [
		group({ group: 0, mean: 0.5, std: 0.1, correct: [true, false, null, null] }),
		group({ group: 1, mean: null, std: null }),
		group({ group: 2, mean: 0.9, std: 0.4, correct: [true, true, true, false] }),
		group({ group: 3, mean: 0.5, std: 0.2, correct: [false, false, false, false] }),
	];
	const all = filterGroups(groups, noFilters, null);
	const order = (by: Parameters<typeof sortGroups>[1]) => sortGroups(all, by).map(({ summary }) => summary.group);
	assert.deepEqual(order('file'), [0, 1, 2, 3]);
	assert.deepEqual(order('reward-high'), [2, 0, 3, 1]);
	assert.deepEqual(order('reward-low'), [0, 3, 2, 1]);
	assert.deepEqual(order('spread'), [2, 3, 0, 1]);
	assert.deepEqual(order('correct'), [2, 0, 3, 1]);
});

test('filtering and sorting neither lose nor add rows (seeded)', () => {
	const random = Random.of(11, 'filters');
	for (let round = 0; round < 200; round++) {
		const size = 1 + random.int(12);
		const any = (): number | null => (random.next() < 0.2 ? null : random.int(5) - 2);
		const one = group({
			group: round,
			reward: Array.from({ length: size }, any),
			advantage: Array.from({ length: size }, any),
			correct: Array.from({ length: size }, () => random.pick([true, false, null])),
			truncated: Array.from({ length: size }, () => random.next() < 0.5),
			length: Array.from({ length: size }, () => random.int(100)),
		});
		const filters: Filters = {
			...noFilters,
			rewardLow: any(),
			rewardHigh: any(),
			advantage: random.pick(['any', 'positive', 'zero', 'negative'] as const),
		};
		const rows = filterGroups([one], filters, null)[0]?.rows ?? [];
		for (const order of ['index', 'reward', 'advantage', 'length'] as const) {
			assert.deepEqual(
				sortRows(one, rows, order).sort((a, b) => a - b),
				[...rows],
			);
		}
		const signs = ['positive', 'zero', 'negative'] as const;
		const parts = signs.flatMap((advantage) => passing({ ...noFilters, advantage }, [one]));
		assert.equal(parts.length, one.advantage.filter((value) => value !== null).length);
	}
});
