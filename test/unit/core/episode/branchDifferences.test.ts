import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { branchDifference, samePrefix } from '../../../../src/core/episode/branchDifferences.ts';
import { shortState } from '../../../../src/core/episode/shortState.ts';
import { stateChanges } from '../../../../src/core/episode/stateChanges.ts';
import type { EpisodeBranch, ShownTurn } from '../../../../src/protocol/episodeMessages.ts';

const turn = (value: number, content: string, more: Partial<ShownTurn> = {}): ShownTurn => ({
	calls: [{ name: 'guess', arguments: { value } }],
	results: [{ name: 'guess', content, failed: false }],
	done: false,
	durationMs: 1,
	...more,
});
const branch = (turns: ShownTurn[], more: Partial<EpisodeBranch> = {}): EpisodeBranch => ({
	...{ id: 1, origin: { kind: 'stepped' }, row: 0, columns: {}, seed: 1, version: 1 },
	reset: { observation: 'Guess.', done: false, durationMs: 1 },
	turns,
	reward: null,
	...more,
});

describe('the state of an instance', () => {
	it('changes in attributes and inside their values', () => {
		const before = { tries: 0, board: [[0, 1], [2]], at: { x: 1, y: 1 }, gone: 'a', same: [1] };
		const after = {
			tries: 1,
			board: [
				[0, 5],
				[2, 3],
			],
			at: { x: 1, y: 2 },
			same: [1],
			now: null,
		};
		assert.deepEqual(
			stateChanges(before, after).map(({ attribute, path, before, after }) => [attribute + path, before, after]),
			[
				['tries', 0, 1],
				['board[0][1]', 1, 5],
				['board[1][1]', undefined, 3],
				['at.y', 1, 2],
				['gone', 'a', undefined],
				['now', undefined, null],
			],
		);
		assert.deepEqual(stateChanges(undefined, after), []);
		assert.deepEqual(stateChanges(JSON.parse('{"__proto__": 1}'), {}).length, 1);
	});

	it('has at most 200 changes', () => {
		const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`a${i}`, i]));
		assert.equal(stateChanges({}, many).length, 200);
	});
});

describe('two episodes', () => {
	it('are the same if only their times differ', () => {
		const one = branch([turn(1, 'higher')], { reward: { value: 1 } });
		const { first, text, turns } = branchDifference(
			one,
			branch([turn(1, 'higher', { durationMs: 9 })], { reward: { value: 1 } }),
		);
		assert.deepEqual([first, text, turns.map(({ kind }) => kind)], [null, null, ['same']]);
	});

	it('differ in a result, the state, done, the reward, and the error', () => {
		const one = branch([turn(1, 'higher'), turn(2, 'higher')]);
		const result = branchDifference(branch([turn(1, 'higher'), turn(2, 'up')]), one);
		assert.deepEqual([result.first, result.turns[1]?.results], [2, [true]]);
		assert.equal(result.text, 'Result of guess in turn 2 ("higher", "up")');
		const state = branchDifference(
			branch([turn(1, 'higher', { state: { a: 2 } })]),
			branch([turn(1, 'higher', { state: { a: 1 } })]),
		);
		assert.deepEqual([state.first, state.text, state.turns[0]?.kind], [1, null, 'differs']);
		assert.equal(branchDifference(branch([turn(1, 'a', { done: true })]), branch([turn(1, 'a')])).turns[0]?.done, true);
		const ofTurn = branchDifference(branch([turn(1, 'a', { reward: 0 })]), branch([turn(1, 'a', { reward: 0.5 })]));
		assert.deepEqual([ofTurn.first, ofTurn.turns[0]?.reward], [1, true]);
		assert.equal(ofTurn.text, 'Reward of turn 1 (0.5, 0)');
		const reward = branchDifference(branch([], { reward: { value: 0 } }), branch([], { reward: { value: 1 } }));
		assert.deepEqual([reward.reward, reward.first, reward.text], [true, 1, 'Reward (1, 0)']);
		const error = { during: 'call', kind: 'timeout', message: 'too slow' } as const;
		const failed = branchDifference(branch([turn(1, '', { results: [] })], { error }), branch([turn(1, 'higher')]));
		assert.deepEqual([failed.error, failed.first], [true, 1]);
		assert.match(failed.text ?? '', /Result of guess \("higher", nothing\)/);
	});

	it('diverge', () => {
		const one = branch([turn(1, 'higher'), turn(2, 'higher')], { reward: { value: 1 } });
		const other = branchDifference(branch([turn(1, 'higher'), turn(3, 'lower')], { reward: { value: 0 } }), one);
		assert.deepEqual(
			other.turns.map(({ kind }) => kind),
			['same', 'calls'],
		);
		assert.equal(other.text, 'Different calls from turn 2 onward');
		const shorter = branchDifference(branch([turn(1, 'higher')]), one);
		assert.deepEqual([shorter.turns[1]?.kind, shorter.text], ['missing', 'Shorter: identical for 1 turn']);
		assert.equal(branchDifference(one, branch([turn(1, 'higher')])).text, 'Longer: identical for 1 turn');
	});

	it('do not differ in values that were not recorded', () => {
		const recorded = branch([turn(1, 'higher', { done: null, durationMs: null })]);
		const { first, reward, turns } = branchDifference(
			branch([turn(1, 'higher', { state: {}, reward: 0.5 })], { reward: { value: 1 } }),
			recorded,
		);
		assert.deepEqual([first, reward, turns[0]?.reward], [null, false, false]);
	});

	it('do not differ if one has only the short form of a long state, as recorded in a rollout', () => {
		const text = 'x'.repeat(500);
		const whole = branch([turn(1, 'higher', { state: { text, tries: 1 } })]);
		const recorded = (tries: number) => branch([turn(1, 'higher', { state: shortState({ text, tries }) })]);
		assert.equal(branchDifference(whole, recorded(1)).first, null);
		const { turns } = branchDifference(whole, recorded(2));
		assert.deepEqual(turns[0]?.state, [{ attribute: 'tries', path: '', before: 2, after: 1 }]);
	});

	it('differ if only the truncated rest of a text differs', () => {
		const cut = (hash: string) =>
			branch([turn(1, '', { results: [{ name: 'guess', content: 'a', rest: { length: 9, hash }, failed: false }] })]);
		assert.equal(branchDifference(cut('a'), cut('b')).first, 1);
		assert.deepEqual([samePrefix(cut('a'), cut('b'), 1), samePrefix(cut('a'), cut('a'), 1)], [false, true]);
		assert.equal(samePrefix(cut('a'), cut('b'), 0), true);
	});
});
