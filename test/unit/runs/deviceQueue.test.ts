import assert from 'node:assert/strict';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { ownIdentity } from '../../../src/processes/processIdentity.ts';
import { acquireDevice } from '../../../src/runs/deviceQueue.ts';
import { startHelper, temporaryFolder } from './runFixtures.ts';

test('runs get a device in arrival order, skipping those that died', async (context) => {
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
	// The second run dies while waiting and must not block the queue.
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

test('waiting can be canceled, which removes the ticket from the queue', async (context) => {
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

test('tickets left by a killed run, a full disk or another machine do not block the queue', async (context) => {
	const folder = await temporaryFolder(context);
	const tickets = join(folder, 'device-cpu', 'waiting');
	await mkdir(tickets, { recursive: true });
	const foreign = JSON.stringify({ ...(await ownIdentity()), host: 'elsewhere.example' });
	const left = { torn: '{"host":', empty: '', wrong: '[]', foreign };
	for (const [i, text] of Object.values(left).entries()) {
		const path = join(tickets, `00000000000000${i}-0000000${i}.json`);
		await writeFile(path, text);
		await utimes(path, 1, 1);
	}
	const waiting = join(tickets, '000000000000009-00000009.json');
	await writeFile(waiting, foreign);
	const cancel = new AbortController();
	const options = { device: 'cpu', whenBusy: 'queue', folder, pollMs: 5 } as const;
	const second = acquireDevice({ ...options, signal: cancel.signal });
	second.catch(() => undefined);
	// A remote run that keeps renewing its ticket is still waiting.
	await eventually(async () => (await readdir(tickets)).filter((name) => name.endsWith('.json')).length === 2);
	assert.ok((await readdir(tickets)).includes(basename(waiting)));
	// If its own ticket is deleted along with old files, the run keeps waiting.
	for (const name of await readdir(tickets)) if (join(tickets, name) !== waiting) await rm(join(tickets, name));
	await eventually(async () => (await readdir(tickets)).filter((name) => name.endsWith('.json')).length === 2);
	await utimes(waiting, 1, 1);
	await (await second)?.release();
	assert.deepEqual(await readdir(tickets), []);
});

test('members of a group use a device together; other runs wait for all of them, and the group waits for other runs', async (context) => {
	const folder = await temporaryFolder(context);
	const base = { device: 'cpu', whenBusy: 'queue', folder, pollMs: 5 } as const;
	const group = { id: 'pipeline-1', slots: 2 };
	const order: string[] = [];
	const take = async (name: string, options: Partial<Parameters<typeof acquireDevice>[0]>) => {
		const lock = await acquireDevice({ ...base, ...options, onWait: () => order.push(`${name} waits`) });
		order.push(name);
		return lock;
	};
	const first = await take('first', { group });
	const second = await take('second', { group });
	const third = take('third', { group });
	await eventually(async () => order.includes('third waits'));
	await first?.release();
	const thirdLock = await third;
	const other = take('other', {});
	await eventually(async () => order.includes('other waits'));
	const elsewhere = take('elsewhere', { group: { id: 'pipeline-2', slots: 2 } });
	await eventually(async () => order.includes('elsewhere waits'));
	await second?.release();
	// The group does not overtake a run that has waited longer.
	const fourth = take('fourth', { group });
	await eventually(async () => order.includes('fourth waits'));
	await thirdLock?.release();
	await (await other)?.release();
	await (await elsewhere)?.release();
	await (await fourth)?.release();
	assert.deepEqual(
		order.filter((name) => !name.includes('waits')),
		['first', 'second', 'third', 'other', 'elsewhere', 'fourth'],
	);
	await (await take('last', {}))?.release();
	assert.deepEqual((await readdir(join(folder, 'device-cpu'))).sort(), ['gate', 'lock', 'waiting']);
	await assert.rejects(acquireDevice({ ...base, group: { id: '../x', slots: 2 } }), { reason: 'internal' });
});

test('a member that was killed frees its slot and the device', async (context) => {
	const folder = await temporaryFolder(context);
	const helper = startHelper(context, 'deviceWaiter.ts', folder, 'queue', 'pipeline-1');
	assert.equal(await helper.line(), 'started');
	assert.equal(await helper.line(), 'has it');
	let waits = false;
	const options = { device: 'cpu', whenBusy: 'queue', folder, pollMs: 5 } as const;
	const other = acquireDevice({ ...options, onWait: () => (waits = true) });
	await eventually(async () => waits);
	helper.process.kill('SIGKILL');
	await helper.ended;
	await (await other)?.release();
});

async function eventually(look: () => Promise<boolean>): Promise<void> {
	for (const end = Date.now() + 20_000; !(await look()); ) {
		assert.ok(Date.now() < end, 'waited for 20 s');
		await new Promise((resolve) => setTimeout(resolve, 5));
	}
}
