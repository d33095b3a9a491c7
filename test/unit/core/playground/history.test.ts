import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
	emptyHistory,
	type History,
	historyRows,
	isRunning,
	reduceHistory,
	restoredHistory,
	savedExchanges,
} from '../../../../src/core/playground/history.ts';
import { type Exchange, maxExchanges, type PlaygroundSide } from '../../../../src/protocol/playgroundMessages.ts';
import { exchange, sample, side } from './exchanges.ts';

const asked = (history: History, one: Exchange) => reduceHistory(history, { type: 'asked', exchange: one });
const ids = ({ exchanges }: Pick<History, 'exchanges'>) => exchanges.map(({ id }) => id);
const leaves = (id: number, from: number): Exchange =>
	exchange(id, { branch: { exchange: from, side: 0, sample: 0, token: 1, from: 'a', to: 'b' } });

test('requests are shown, and undone ones can be redone until the next request', () => {
	let history = asked(asked(emptyHistory, exchange(1)), leaves(2, 1));
	history = asked(history, exchange(3));
	assert.deepEqual([ids(history), history.current, history.nextId], [[1, 2, 3], 3, 4]);
	history = reduceHistory(history, { type: 'undo' });
	history = reduceHistory(history, { type: 'undo' });
	assert.deepEqual([ids(history), history.current], [[1], 1], 'undoing a branch shows its origin');
	history = reduceHistory(history, { type: 'redo' });
	assert.deepEqual([ids(history), history.current, history.undone.length], [[1, 2], 2, 1]);
	history = asked(history, exchange(history.nextId));
	assert.deepEqual([ids(history), history.undone.length], [[1, 2, 4], 0], 'ids are never reused');
	assert.equal(reduceHistory(history, { type: 'redo' }), history);
	assert.equal(reduceHistory(history, { type: 'show', id: 3 }), history, 'the entry no longer exists');
	assert.deepEqual(ids(reduceHistory(history, { type: 'clear' })), []);
});

test('output in progress can be neither undone nor cleared', () => {
	const history = asked(emptyHistory, exchange(1, { sides: [side({ state: 'writing' })] }));
	assert.ok(isRunning(history.exchanges[0] as Exchange));
	assert.equal(reduceHistory(history, { type: 'undo' }), history);
	assert.equal(reduceHistory(history, { type: 'clear' }), history);
	const change: Partial<PlaygroundSide> = { state: 'finished', seconds: 2 };
	const done = reduceHistory(history, { type: 'changed', id: 1, side: 0, change });
	assert.equal(done.exchanges[0]?.sides[0]?.seconds, 2);
	assert.deepEqual(ids(reduceHistory(done, { type: 'undo' })), []);
});

test('history stays bounded', () => {
	let history = emptyHistory;
	for (let id = 1; id <= maxExchanges + 5; id++) history = asked(history, exchange(id));
	assert.equal(history.exchanges.length, maxExchanges);
	assert.equal(history.exchanges[0]?.id, 6);
});

test('branches appear below their origin, and never start from later entries', () => {
	const all = [
		exchange(1),
		leaves(2, 1),
		exchange(3),
		leaves(4, 2),
		leaves(5, 1),
		leaves(6, 7),
		leaves(7, 6),
		leaves(8, 99),
	];
	assert.deepEqual(
		historyRows(all).map(({ exchange: { id }, depth }) => [id, depth]),
		[
			[1, 0],
			[2, 1],
			[4, 2],
			[5, 1],
			[3, 0],
			[6, 0],
			[7, 1],
			[8, 0],
		],
	);
});

test('a reload ends output in progress and keeps its text', () => {
	const writing = side({ state: 'writing', samples: [sample({ text: 'so far', finish: null })] });
	const history = restoredHistory([exchange(4, { sides: [writing] }), exchange(9), exchange(9)], 4);
	assert.deepEqual([ids(history), history.current, history.nextId], [[4, 9], 4, 10]);
	const [kept] = history.exchanges[0]?.sides ?? [];
	assert.deepEqual([kept?.state, kept?.samples[0]?.finish, kept?.samples[0]?.text], ['stopped', 'stopped', 'so far']);
	assert.equal(restoredHistory([], 3).current, null);
});

test('state kept across a reload is bounded: tokens are dropped before texts, oldest first', () => {
	const detail = { text: Array.from({ length: 100 }, () => 'x'), logprob: Array.from({ length: 100 }, () => -1) };
	const heavy = (id: number) =>
		exchange(id, { sides: [side({ samples: [sample({ text: 'x'.repeat(100), detail })] })] });
	const all = Array.from({ length: 40 }, (_, i) => heavy(i + 1));
	const kept = savedExchanges(all, 40_000);
	assert.ok(kept.length > 10 && kept.length < 40, `${kept.length}`);
	assert.equal(kept.at(-1)?.id, 40);
	assert.deepEqual(kept.at(-1), all.at(-1), 'the newest one is complete');
	assert.equal(kept[0]?.sides[0]?.samples[0]?.detail, null);
	assert.ok(JSON.stringify(kept).length < 60_000);
	assert.deepEqual(savedExchanges([heavy(1)], 100), []);
});
