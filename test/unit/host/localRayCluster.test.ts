import './vscodeHook.ts';
import assert from 'node:assert/strict';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import type { NoticeAction } from '../../../src/host/notices.ts';

const { LocalRayCluster } = await import('../../../src/host/pytorch/localRayCluster.ts');

test('a cluster is offered where a recipe names one on this machine and nothing listens there', async (t) => {
	const said: { text: string; actions: readonly NoticeAction[] }[] = [];
	const notice = async (text: string, actions: readonly NoticeAction[] = []) => void said.push({ text, actions });
	const cluster = new LocalRayCluster({
		notices: { information: notice, warning: notice, failure: assert.fail },
		python: () => assert.fail('no Python is looked for before the person agrees'),
		openLog: assert.fail,
	});
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise((resolve) => server.once('listening', resolve));
	const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	assert.equal(await cluster.isThere(address, assert.fail), true);
	assert.equal(
		await cluster.isThere('http://ray-head:8265', assert.fail),
		true,
		'another machine is asked by the engine',
	);
	const variable = process.env.RAY_ADDRESS;
	t.after(() => {
		if (variable !== undefined) process.env.RAY_ADDRESS = variable;
	});
	delete process.env.RAY_ADDRESS;
	assert.equal(await cluster.isThere(null, assert.fail), true, 'that no cluster is named, the engine says');
	assert.deepEqual(said, []);
	await new Promise((resolve) => server.close(resolve));
	assert.equal(await cluster.isThere(address, assert.fail), false);
	const [{ text, actions } = { text: '', actions: [] }] = said;
	assert.match(
		text,
		new RegExp(`^There is no Ray cluster at ${address}\\. .*"ray start --head --dashboard-port=\\d+"`),
	);
	assert.deepEqual(
		actions.map(({ title }) => title),
		['Start Local Cluster'],
	);
});
