import assert from 'node:assert/strict';
import { test } from 'node:test';
import { episodeOf } from '../../../../src/core/episode/branchDifferences.ts';
import { labelDifference, parseEpisodes } from '../../../../src/core/episode/labeledEpisode.ts';
import { labelOfBranch } from '../../../../src/core/episode/labelOfBranch.ts';
import type { EpisodeBranch } from '../../../../src/protocol/episodeMessages.ts';

const result = (content: string) => ({ name: 'guess', content, failed: false });
const branch: EpisodeBranch = {
	...{ id: 1, origin: { kind: 'stepped' }, row: 2, columns: { number: 7 }, seed: 1, version: 1 },
	reset: { observation: 'Guess.', done: false, durationMs: 1 },
	turns: [
		{
			calls: [{ name: 'guess', arguments: { value: 3 } }],
			results: [result('higher')],
			done: false,
			durationMs: 1,
		},
		{
			calls: [
				{ name: 'guess', arguments: '{"wrong' },
				{ name: 'look', arguments: {} },
			],
			results: [result('a'), { ...result('b'), rest: { length: 9, hash: 'c' } }],
			done: true,
			durationMs: 1,
		},
	],
	reward: { value: 0.5 },
};

test('an episode in the view becomes a labeled episode that it matches', () => {
	const { episodes, faults } = parseEpisodes(`${JSON.stringify(labelOfBranch(branch, 'by hand'))}\n`);
	assert.deepEqual(faults, []);
	const [labeled] = episodes;
	assert.ok(labeled);
	assert.deepEqual(
		[labeled.label, labeled.row, labeled.turns],
		['by hand', { number: 7 }, branch.turns.map(({ calls }) => calls)],
	);
	assert.deepEqual(labeled.expect, { reward: 0.5, observation: 'Guess.', results: ['higher', 'a', null], done: true });
	assert.equal(labelDifference(labeled, episodeOf(branch)), null);
	assert.match(
		labelDifference(labeled, episodeOf({ ...branch, reward: { value: 1 } }))?.message ?? '',
		/the reward is 1/,
	);
});

test('an episode without calls, a done flag or a reward expects only its observation', () => {
	const reset = { observation: null, done: null, durationMs: 1 };
	const { episodes } = parseEpisodes(JSON.stringify(labelOfBranch({ ...branch, reset, turns: [], reward: null }, '')));
	assert.deepEqual([episodes[0]?.label, episodes[0]?.expect], ['episode 1', { observation: null }]);
});

test('a failed episode is not saved', () => {
	const error = { during: 'call', kind: 'timeout', message: 'too slow' } as const;
	assert.throws(() => labelOfBranch({ ...branch, error }, ''), { reason: 'invalid' });
	assert.throws(() => labelOfBranch({ ...branch, reset: null }, ''), { reason: 'invalid' });
});
