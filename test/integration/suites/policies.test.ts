import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, settingIds } from '../../../src/extension/ids.ts';
import type { PolicyTrial } from '../../../src/extension/policies/policyPresentation.ts';
import { policyId } from '../../../src/extension/policies/policyStore.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { ModelServer } from '../../unit/policies/modelServer.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

suite('policies', () => {
	let api: ExtensionApi;
	let server: ModelServer;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		server = await ModelServer.start({ logprobs: 20, many: true, seed: true, stops: 'told', prefix: 'continue' });
		folder = join(workspaceFolder(), 'scripts-of-policies');
		await mkdir(folder, { recursive: true });
	});

	suiteTeardown(async () => {
		await server[Symbol.asyncDispose]();
		await vscode.workspace.getConfiguration().update(settingIds.policies, undefined, vscode.ConfigurationTarget.Global);
		await rm(folder, { recursive: true, force: true });
	});

	const execute = <T>(id: string, ...args: unknown[]) => vscode.commands.executeCommand<T>(id, ...args);

	test('a server is added, tested with its key, and removed along with it', async () => {
		const { store, list } = await api.policies.get();
		const spec = { name: 'counter', baseUrl: server.url, model: 'tiny' };
		const added = await execute<{ kind: string; name: string }>(commandIds.addPolicy, spec);
		assert.deepEqual([added.kind, added.name], ['openai', 'counter']);
		const id = policyId({ ...spec, kind: 'openai', api: 'chat' });
		assert.ok((await list.list()).includes(id));
		assert.equal(list.present(id)?.label, 'counter');
		assert.match(list.present(id)?.spoken ?? '', /not tested/);
		// Two policies with the same name cannot be distinguished: the second is rejected and nothing is returned.
		assert.equal(await execute(commandIds.addPolicy, spec), undefined);

		assert.equal(await execute(commandIds.setPolicyKey, id, 'the-key'), true);
		const found = await execute<PolicyTrial>(commandIds.testPolicy, id);
		assert.deepEqual(
			[found.capabilities.logprobs, found.capabilities.prefix, found.capabilities.instructions],
			[true, true, true],
		);
		assert.ok(server.requests.length > 3 && server.requests.every(({ key }) => key === 'Bearer the-key'));
		await list.list();
		assert.match(list.present(id)?.description ?? '', /^tiny · continues, log-probs/);

		await execute(commandIds.setPolicyPrice, id, '1 2.5 EUR');
		assert.deepEqual(store.servers[0]?.price, { input: 1, output: 2.5, currency: 'EUR' });
		assert.deepEqual(Object.values(await (await api.policies.get()).keys()), ['the-key']);

		assert.equal(await execute(commandIds.removePolicy, id, true), true);
		assert.deepEqual([await list.list(), store.servers], [[], []]);
		// A policy added again under the same name has no key.
		await execute(commandIds.addPolicy, spec);
		assert.deepEqual(await (await api.policies.get()).keys(), {});
		await execute(commandIds.removePolicy, id, true);
	});

	test('a script used in a search is listed and can be removed', async () => {
		const { store, list } = await api.policies.get();
		const file = join(folder, 'played.json');
		await writeFile(file, JSON.stringify({ rules: [{ say: '<answer>42</answer>' }] }));
		const policy = { kind: 'scripted', file } as const;
		await store.used(policy);
		const id = policyId(policy);
		assert.ok((await list.list()).includes(id));
		assert.equal(list.present(id)?.label, 'played.json');
		assert.equal(await execute(commandIds.removePolicy, id), true);
		assert.ok(!(await list.list()).includes(id));
	});

	test('invalid entries are skipped and reported', async () => {
		const entries = [
			{ name: 'no-url', model: 'm' },
			{ name: 'fine', baseUrl: server.url, model: 'm' },
		];
		await vscode.workspace.getConfiguration().update(settingIds.policies, entries, vscode.ConfigurationTarget.Global);
		const { store } = await api.policies.get();
		assert.deepEqual(
			store.servers.map(({ name }) => name),
			['fine'],
		);
		assert.match(store.faults.join(), /Entry 1 of "reasoningLab.policies": baseUrl/);
	});
});
