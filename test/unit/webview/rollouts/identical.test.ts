import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RolloutDetail } from '../../../../src/protocol/rolloutsMessages.ts';
import { foldIdentical, foldOf, namesOf, shownOfFolds } from '../../../../webview/rollouts/identical.ts';

const rollout = (index: number, completion: string | null, more: Partial<RolloutDetail> = {}): RolloutDetail => ({
	...{ index, completion, size: completion?.length ?? 9, rewards: [], reward: 1, advantage: 0, correct: true },
	...{ truncated: false, tokens: 3, hasTokens: false, extra: null },
	...more,
});

test('identical completions fold into the first one, unless their cards would differ', () => {
	const folds = foldIdentical([
		rollout(0, 'a', { extra: '{"id":"x"}' }),
		rollout(1, 'b'),
		rollout(2, 'a', { extra: '{"id":"y"}' }),
		rollout(3, 'a', { reward: 0 }),
		rollout(4, 'a'),
		rollout(5, null),
		rollout(6, null),
		rollout(7, '', { textRecorded: false }),
		rollout(8, '', { textRecorded: false }),
		rollout(9, 'a', { turns: 2 }),
		rollout(10, 'a', { truncated: null }),
	]);
	assert.deepEqual(
		folds.map(({ rollout: { index }, others }) => [index, ...others.map((other) => other.index)]),
		[[0, 2, 4], [1], [3], [5], [6], [7], [8], [9], [10]],
	);
	const shown = (...expanded: number[]) => shownOfFolds(folds, new Set(expanded)).map(({ index }) => index);
	assert.deepEqual(shown(), [0, 1, 3, 5, 6, 7, 8, 9, 10]);
	assert.deepEqual(shown(0), [0, 2, 4, 1, 3, 5, 6, 7, 8, 9, 10]);
	assert.equal(foldOf(folds, 4)?.rollout.index, 0);
	assert.equal(foldOf(folds, 1), null);
	assert.equal(foldOf(folds, null), null);
});

test('the other completions in a fold are listed, or only the first ones if there are many', () => {
	const names = (count: number) => namesOf(Array.from({ length: count }, (_, index) => rollout(index, 'a')));
	assert.equal(names(1), '#0');
	assert.equal(names(3), '#0, #1 and #2');
	assert.equal(names(10), '#0, #1, #2, #3, #4, #5, #6, #7 and 2 more');
});
