import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred } from '../../../../src/base/async.ts';
import { Failure } from '../../../../src/base/failure.ts';
import { RequestQueue } from '../../../../src/rpc/http/requestQueue.ts';

const never = new AbortController().signal;
const turn = () => new Promise((resolve) => setImmediate(resolve));

test('only a limited number of requests start per minute, and the rest start later', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
	const queue = new RequestQueue({ concurrency: 10, retries: 0, requestsPerMinute: 3 });
	let started = 0;
	const attempt = async () => ({ result: ++started });
	const all = Promise.all(Array.from({ length: 7 }, () => queue.run(attempt, never)));
	await turn();
	assert.equal(started, 3);
	t.mock.timers.tick(59_000);
	await turn();
	assert.equal(started, 3);
	t.mock.timers.tick(1000);
	await turn();
	assert.equal(started, 6);
	t.mock.timers.tick(60_000);
	await all;
	assert.equal(started, 7);
});

test('a canceled request leaves the queue and frees its slot', async () => {
	const queue = new RequestQueue({ concurrency: 1, retries: 0 });
	const first = deferred<{ result: string }>();
	const running = queue.run(() => first.promise, never);
	const cancel = new AbortController();
	const second = queue.run(async () => ({ result: 'second' }), cancel.signal);
	const third = queue.run(async () => ({ result: 'third' }), never);
	cancel.abort();
	await assert.rejects(second, (error) => error instanceof Failure && error.reason === 'cancelled');
	first.resolve({ result: 'first' });
	assert.deepEqual(await Promise.all([running, third]), ['first', 'third']);
});

test('retry delays double, and a delay requested by a server applies to all requests', async (t) => {
	t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
	const queue = new RequestQueue({ concurrency: 4, retries: 2, firstWaitMs: 1000 });
	const failure = new Failure('unavailable', 'no');
	let tries = 0;
	const failing = queue.run(
		async () => ({ failure, passing: true, ...(++tries === 1 ? { waitMs: 30_000 } : {}) }),
		never,
	);
	await turn();
	let other = 0;
	const waiting = queue.run(async () => ({ result: ++other }), never);
	t.mock.timers.tick(29_000);
	await turn();
	assert.deepEqual([tries, other], [1, 0]);
	t.mock.timers.tick(1000);
	await turn();
	await turn();
	assert.deepEqual([tries, other, await waiting], [2, 1, 1]);
	t.mock.timers.tick(1400);
	await turn();
	assert.equal(tries, 2);
	t.mock.timers.tick(1200);
	await assert.rejects(failing, failure);
	assert.deepEqual([tries, queue.retries], [3, 2]);
});
