import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ResolvedReward } from '../../../src/core/recipe/resolvedRecipe.ts';
import type { RewardDescription } from '../../../src/protocol/rewardHost.ts';
import { rewardColumns } from '../../../src/rewards/rewardColumns.ts';

const described = (name: string, weight?: number): RewardDescription => ({
	name,
	...(weight === undefined ? {} : { weight }),
	parameters: [],
	required: [],
	batchOnly: false,
	location: null,
});
const built = (use: 'accuracy' | 'format', name: string = use, weight = 1) =>
	({ use, name, weight }) as unknown as ResolvedReward;
const file = (path: string, name: string | null = null, weight: number | null = null): ResolvedReward => ({
	file: path,
	name,
	weight,
});
const columnsOf = (rewards: ResolvedReward[], files: Record<string, RewardDescription[]> = {}) =>
	rewardColumns(rewards, new Map(Object.entries(files))).map(({ name, weight, reward }) => [name, weight, reward]);

test('an entry without a name includes all rewards in its file, weighted by the entry, the reward itself, or 1', () => {
	const files = { 'a/x.reward.ts': [described('one', 0.3), described('two'), described('three', -2)] };
	assert.deepEqual(columnsOf([built('accuracy'), file('a/x.reward.ts')], files), [
		['accuracy', 1, 'accuracy'],
		['one', 0.3, 'one'],
		['two', 1, 'two'],
		['three', -2, 'three'],
	]);
	assert.deepEqual(columnsOf([file('a/x.reward.ts', 'three', 0), file('a/x.reward.ts', 'one')], files), [
		['three', 0, 'three'],
		['one', 0.3, 'one'],
	]);
});

test('names are unique: later duplicates get their file name as a prefix, plus a number if necessary', () => {
	const files = {
		'a/x.reward.ts': [described('format'), described('y.same')],
		'b/y.reward.py': [described('same'), described('format')],
		'c/y.reward.ts': [described('same')],
		'd/y.reward.js': [described('same')],
	};
	const entries = Object.keys(files).map((path) => file(path));
	assert.deepEqual(
		columnsOf([...entries, built('format')], files).map(([name]) => name),
		// Built-in rewards keep their name, wherever they are listed.
		['x.format', 'y.same', 'same', 'y.format', 'y.same.2', 'y.same.3', 'format'],
	);
});

test('an unknown name and a reward listed by two entries are rejected', () => {
	const files = { 'x.reward.ts': [described('one'), described('two')] };
	assert.throws(() => columnsOf([file('x.reward.ts', 'three')], files), {
		reason: 'invalid',
		message: 'Reward file x.reward.ts has no reward "three". Available: one, two.',
	});
	assert.throws(() => columnsOf([file('x.reward.ts'), file('x.reward.ts', 'two')], files), { message: /listed twice/ });
});
