import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import type { LogprobsJob } from '../../../../../src/engines/embedded/compute/jobs.ts';
import { pack } from '../../../../../src/engines/embedded/compute/packing.ts';
import { WorkerPool } from '../../../../../src/engines/embedded/compute/workerPool.ts';

/** Worker that answers with its job's temperature, throws at 0, and exits at -1. */
const script = new URL(
	`data:text/javascript,${encodeURIComponent(`
		import { parentPort } from 'node:worker_threads';
		parentPort.on('message', ({ id, job }) => {
			if (job.temperature === -1) process.exit(3);
			if (job.temperature === 0) parentPort.postMessage({ id, failure: { reason: 'invalid', message: 'no' } });
			else parentPort.postMessage({ id, result: { logprobs: Float32Array.of(job.temperature) } });
		});
	`)}`,
);

function job(temperature: number): LogprobsJob {
	return {
		kind: 'logprobs',
		weights: { slot: 'policy', version: 0, buffer: new SharedArrayBuffer(4) },
		batch: pack([]),
		temperature,
	};
}

const send = (pool: WorkerPool, temperature: number) => pool.run(() => ({ job: job(temperature), transfer: [] }));
const failed = (reason: string, text: RegExp) => (error: unknown) =>
	error instanceof Failure && error.reason === reason && text.test(error.message);

test('more jobs than workers all finish, and one failure does not affect the others', async () => {
	const pool = new WorkerPool(script);
	pool.add();
	pool.add();
	const numbers = Array.from({ length: 20 }, (_, i) => i + 1);
	const bad = assert.rejects(send(pool, 0), failed('invalid', /^no$/));
	const results = await Promise.all(numbers.map((n) => send(pool, n)));
	assert.deepEqual(
		results.map(({ logprobs }) => logprobs[0]),
		numbers,
	);
	await bad;
	await pool.close();
});

test('a worker that dies fails all running, queued and later jobs', { timeout: 20_000 }, async () => {
	const pool = new WorkerPool(script);
	pool.add();
	const stopped = failed('internal', /compute worker exited: exit code 3/);
	await Promise.all([assert.rejects(send(pool, -1), stopped), assert.rejects(send(pool, 2), stopped)]);
	await assert.rejects(send(pool, 3), stopped);
	await pool.close();
});

test('closing settles all pending jobs', async () => {
	const pool = new WorkerPool(script);
	pool.add();
	const open = [1, 2, 3].map((n) => assert.rejects(send(pool, n), failed('cancelled', /disposed/)));
	await pool.close();
	await Promise.all(open);
});
