import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { acquireDevice } from '../../../src/runs/deviceQueue.ts';
import { startHelper, temporaryFolder } from './runFixtures.ts';

test('runs get a device in the order of arrival, past those that died', async (context) => {
	const folder = await temporaryFolder(context);
	const start = async () => {
		const helper = startHelper(context, 'deviceWaiter.ts', folder);
		assert.equal(await helper.line(), 'started');
		return helper;
	};
	const first = await start();
	assert.equal(await first.line(), 'has it');
	const second = await start();
	assert.equal(await second.line(), `waits for ${first.process.pid}`);
	const third = await start();
	assert.equal(await third.line(), `waits for ${first.process.pid}`);
	const shared = startHelper(context, 'deviceWaiter.ts', folder, 'share');
	assert.equal(await shared.line(), 'started');
	assert.equal(await shared.line(), 'has it');
	// The second dies while it waits: it holds nobody up.
	second.process.kill('SIGKILL');
	await second.ended;
	const fourth = await start();
	assert.equal(await fourth.line(), `waits for ${first.process.pid}`);
	first.process.kill('SIGKILL');
	await first.ended;
	assert.equal(await third.line(), 'has it');
	assert.equal(await fourth.line(), `waits for ${third.process.pid}`);
	third.process.kill('SIGKILL');
	assert.equal(await fourth.line(), 'has it');
	assert.deepEqual(await readdir(join(folder, 'device-cpu', 'waiting')), []);
});

test('waiting can be given up, and then leaves no place in the queue', async (context) => {
	const folder = await temporaryFolder(context);
	const options = { device: 'cuda', whenBusy: 'queue', folder, pollMs: 5 } as const;
	const lock = await acquireDevice(options);
	const cancel = new AbortController();
	const waiting = acquireDevice({ ...options, signal: cancel.signal, onWait: () => cancel.abort() });
	await assert.rejects(waiting, { reason: 'cancelled' });
	assert.deepEqual(await readdir(join(folder, 'device-cuda', 'waiting')), []);
	await lock?.release();
	await (await acquireDevice(options))?.release();
	await assert.rejects(acquireDevice({ ...options, device: '../x' }), { reason: 'internal' });
});
