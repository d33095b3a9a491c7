import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EpisodeBranch } from '../../../../src/protocol/episodeMessages.ts';
import { advance } from '../../../../webview/episode/replay.ts';
import { savedBranches } from '../../../../webview/episode/savedBranches.ts';

const start = { turn: 0, rest: 0 };

test('a replay shows one turn per second at normal speed, and ends at the last turn', () => {
	assert.deepEqual(advance(start, 0.5, 1, 5), { turn: 0, rest: 0.5 });
	assert.deepEqual(advance({ turn: 1, rest: 0.75 }, 0.5, 1, 5), { turn: 2, rest: 0.25 });
	assert.deepEqual(advance(start, 0.25, 32, 5), { turn: 5, rest: 0 });
	assert.deepEqual(advance(start, 1, 0.5, 5), { turn: 0, rest: 0.5 });
	assert.deepEqual(advance({ turn: 5, rest: 0 }, 1, 1, 5), { turn: 5, rest: 0 });
});

test('the saved state contains the shown episode and the latest ones, within a limit', () => {
	const made = (id: number, length: number): EpisodeBranch => ({
		...{ id, origin: { kind: 'stepped' }, row: 0, columns: {}, seed: 1, version: 1, turns: [], reward: null },
		reset: { observation: 'x'.repeat(length), done: null, durationMs: 0 },
	});
	const branches = [made(1, 150_000), made(2, 150_000), made(3, 150_000), made(4, 10)];
	const ids = (shown: number | null) => savedBranches(branches, shown).map(({ id }) => id);
	assert.deepEqual(ids(null), [2, 3, 4]);
	assert.deepEqual(ids(1), [1, 3, 4]);
	assert.deepEqual(savedBranches([made(1, 500_000)], 1), []);
});
