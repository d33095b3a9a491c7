import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineStore, type LoadedLines } from '../../../../webview/transcript/lineStore.ts';

/** A store whose requests are answered by the test. */
function storeOf(count: number) {
	const requests: { from: number; count: number; answer(lines: LoadedLines): void; refuse(): void }[] = [];
	const loaded: [number, number][] = [];
	const failures: unknown[] = [];
	const load = (from: number, more: number) =>
		new Promise<LoadedLines>((resolve, reject) => {
			requests.push({ from, count: more, answer: resolve, refuse: () => reject(new Error('refused')) });
		});
	const store = new LineStore(count, load, {
		loaded: (from, end) => loaded.push([from, end]),
		failed: (error) => failures.push(error),
	});
	return { store, requests, loaded, failures };
}

const linesFrom = (from: number, count: number, word = 'line'): LoadedLines => ({
	lines: Array.from({ length: count }, (_, i) => JSON.stringify({ role: 'user', content: `${word} ${from + i}` })),
	numbers: Array.from({ length: count }, (_, i) => from + i + 1),
	open: false,
});
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('only what is shown is loaded, latest first', async () => {
	const { store, requests, loaded } = storeOf(1000);
	assert.equal(store.get(0), null);
	for (const line of [200, 400, 600, 800, 999]) assert.equal(store.get(line), null);
	assert.deepEqual([requests.length, requests[0]?.from], [1, 0]);
	// If a response is shorter than requested, the rest is requested, too.
	requests[0]?.answer(linesFrom(0, 10));
	await settled();
	assert.deepEqual([requests[1]?.from, requests[1]?.count, loaded], [10, 54, [[0, 10]]]);
	requests[1]?.answer(linesFrom(10, 54));
	await settled();
	assert.equal(requests[2]?.from, 960, 'the latest');
	requests[2]?.answer(linesFrom(960, 40));
	await settled();
	assert.equal(store.get(999)?.messages[0]?.text, 'line 999');
	assert.equal(store.get(1000), null);
	for (let i = 3; i < requests.length; i++) {
		requests[i]?.answer(linesFrom(requests[i]?.from ?? 0, 64));
		await settled();
	}
	// Line 200 was superseded by later lines before its turn came, and nothing follows the last block.
	assert.deepEqual(
		requests
			.slice(3)
			.map(({ from }) => from)
			.sort((a, b) => a - b),
		[384, 576, 768],
	);
});

test('lines that were requested before the text grew are requested again', async () => {
	const { store, requests, failures } = storeOf(100);
	assert.equal(store.get(99), null);
	store.grow(130);
	requests[0]?.refuse();
	await settled();
	assert.deepEqual([requests[1]?.from, requests[1]?.count, failures], [64, 64, []]);
	store.grow(140);
	requests[1]?.answer(linesFrom(64, 36, 'old'));
	await settled();
	assert.equal(store.get(99), null);
	requests[2]?.answer(linesFrom(64, 64, 'new'));
	await settled();
	assert.equal(store.get(99)?.messages[0]?.text, 'new 99');
	// If the text has not grown, there is a different reason.
	assert.equal(store.get(130), null);
	requests.at(-1)?.refuse();
	await settled();
	assert.equal(failures.length, 1);
	store.close();
});
