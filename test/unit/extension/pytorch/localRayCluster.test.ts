import '../vscodeHook.ts';
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { NoticeAction } from '../../../../src/extension/notices.ts';

const { LocalRayCluster } = await import('../../../../src/extension/pytorch/localRayCluster.ts');

test('offers to start a cluster if a recipe names a local address where nothing is listening', async (t) => {
	const said: { text: string; actions: readonly NoticeAction[] }[] = [];
	const notice = async (text: string, actions: readonly NoticeAction[] = []) => void said.push({ text, actions });
	const cluster = new LocalRayCluster({
		notices: { information: notice, warning: notice, failure: assert.fail },
		python: () => assert.fail('Python is searched for before the user agrees'),
		openLog: assert.fail,
	});
	const folder = await mkdtemp(join(tmpdir(), 'ray-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const recipe = async (address: string | null) => {
		const path = join(folder, 'a.recipe.json');
		const ray = address === null ? {} : { ray: { address } };
		const more = {
			dataset: { task: 'addition' },
			stages: [{ type: 'grpo', steps: 1, learning_rate: 0.001 }],
			rewards: [{ use: 'accuracy' }],
		};
		await writeFile(
			path,
			JSON.stringify({ name: 'a', engine: 'ray', model: { layers: 1, width: 16, heads: 2 }, ...more, ...ray }),
		);
		return path;
	};
	const server = createServer().listen(0, '127.0.0.1');
	await new Promise((resolve) => server.once('listening', resolve));
	const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
	assert.equal(await cluster.isThere(await recipe(address), assert.fail), true);
	assert.equal(
		await cluster.isThere(await recipe('http://ray-head:8265'), assert.fail),
		true,
		'the engine checks other machines',
	);
	const variable = process.env.RAY_ADDRESS;
	t.after(() => {
		delete process.env.RAY_ADDRESS;
		if (variable !== undefined) process.env.RAY_ADDRESS = variable;
	});
	delete process.env.RAY_ADDRESS;
	assert.equal(
		await cluster.isThere(await recipe(null), assert.fail),
		true,
		'the engine reports that no cluster is named',
	);
	assert.deepEqual(said, []);
	await new Promise((resolve) => server.close(resolve));
	assert.equal(await cluster.isThere(await recipe(address), assert.fail), false);
	const [{ text, actions } = { text: '', actions: [] }] = said;
	// A resumed run has its recipe in its folder.
	await writeFile(join(folder, 'recipe.json'), JSON.stringify({ format: 1, ray: { address } }));
	assert.equal(await cluster.isThere(folder, assert.fail), false);
	assert.equal(await cluster.isThere(join(folder, 'nowhere'), assert.fail), true);
	process.env.RAY_ADDRESS = address;
	assert.equal(await cluster.isThere(await recipe(null), assert.fail), false);
	assert.match(
		text,
		new RegExp(`^No Ray cluster is running at ${address}\\. .*"ray start --head --dashboard-port=\\d+"`),
	);
	assert.deepEqual(
		actions.map(({ title }) => title),
		['Start Local Cluster'],
	);
});
