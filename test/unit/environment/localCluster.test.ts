import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { LocalCluster, listensAt, localPort } from '../../../src/environment/localCluster.ts';
import { bootId } from '../../../src/processes/processIdentity.ts';

test('local addresses are distinguished from remote ones', () => {
	for (const [address, port] of [
		['http://127.0.0.1:8265', 8265],
		['http://localhost:80/', 80],
		['http://localhost', 80],
		['http://[::1]:9000', 9000],
		['https://127.0.0.1:8265', null],
		['http://ray-head:8265', null],
		['http://127.0.0.1.example.org:8265', null],
		['auto', null],
		['', null],
	] as const) {
		assert.equal(localPort(address), port, address);
	}
});

test('a cluster is not started on a port in use or at a remote address', async (t) => {
	const home = await mkdtemp(join(tmpdir(), 'cluster-'));
	t.after(() => rm(home, { recursive: true, force: true }));
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise((resolve) => server.once('listening', resolve));
	t.after(() => server.close());
	const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	assert.equal(await listensAt(address), true);
	const cluster = new LocalCluster(home);
	const start = (at: string) => cluster.start({ python: '/nowhere/python', address: at, nodeFolder: null });
	await assert.rejects(start(address), { reason: 'invalid', message: /is already in use/ });
	await assert.rejects(start('http://ray-head:8265'), { reason: 'invalid', message: /not an address on this machine/ });
});

test('the recorded process is stopped only if it is the one that was started', async (t) => {
	const home = await mkdtemp(join(tmpdir(), 'cluster-'));
	t.after(() => rm(home, { recursive: true, force: true }));
	await mkdir(join(home, 'ray-local'));
	// The pid of this process with a different start time.
	const record = {
		...{ format: 1, host: hostname(), boot: await bootId(), pid: process.pid, processStart: '0' },
		...{ marker: `REASONING_LAB_RAY=${'0'.repeat(24)}`, address: 'http://127.0.0.1:8265' },
	};
	for (const text of [JSON.stringify(record), JSON.stringify({ ...record, marker: 'PATH=' }), '{']) {
		await writeFile(join(home, 'ray-local', 'cluster.json'), text);
		const cluster = new LocalCluster(home);
		assert.equal(await cluster.running(), null);
		assert.equal(await cluster.stop(), null);
	}
});
