import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import { openLink } from '../../../src/core/address/openLink.ts';
import { chatVendor } from '../../../src/extension/agents/chatModels.ts';
import { commandIds, settingIds } from '../../../src/extension/ids.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { mctsEvents } from '../../support/treeEvents.ts';
import { makeBatch } from '../../unit/webview/rollouts/rolloutsFixture.ts';
import { activated, notices, until, untilListed, workspaceFolder, writeRun } from '../support/laboratory.ts';

const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
const closeAll = () => vscode.commands.executeCommand('workbench.action.closeAllEditors');

/** Writes a run with rollouts at step 2, a search, and an evaluation of a checkpoint. */
async function writeCitedRun(folder: string, name: string): Promise<void> {
	await writeRun(folder, { name });
	const write = async (path: string, lines: readonly object[]) => {
		await mkdir(join(folder, path, '..'), { recursive: true });
		await writeFile(join(folder, path), `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
	};
	await write('rollouts/step_000002.jsonl', makeBatch({ step: 2, groups: 2, size: 2 }));
	await write('searches/tree.jsonl', mctsEvents({ nodes: 12 }));
	await write('annotations/evaluations/final/report.json', [{}]);
}

suite('agents in the editor', () => {
	test('the MCP server is offered for the open folders, and its program responds', async () => {
		const api = await activated();
		const { servers } = (await api.background.get()).agents;
		const [server, ...others] = servers.provideMcpServerDefinitions();
		assert.ok(server);
		assert.deepEqual(others, []);
		assert.deepEqual(server.args.slice(1), ['mcp', '--folder', workspaceFolder()]);
		const env = { ...process.env, ...(server.env as Record<string, string>) };
		const run = promisify(execFile)(server.command, server.args, { env, timeout: 60_000 });
		const initialize = {
			jsonrpc: '2.0',
			id: 1,
			method: 'initialize',
			params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
		};
		const { stdin, stdout } = run.child;
		let answered = '';
		stdout?.on('data', (chunk) => {
			answered += chunk;
		});
		stdin?.write(`${JSON.stringify(initialize)}\n`);
		await until('the server answers', () => answered.includes('\n'));
		assert.equal(JSON.parse(answered).result.serverInfo.name, 'reasoning-lab');
		stdin?.end();
		await run;
	});

	test('the read-only tools answer language models, and failures include the reason', async function () {
		const api = await activated();
		await api.background.get();
		// Not every editor has language models.
		if (typeof vscode.lm?.invokeTool !== 'function') this.skip();
		const run = join(workspaceFolder(), 'agents', 'runs', 'told');
		await writeCitedRun(run, 'told');
		const other = join(workspaceFolder(), 'agents', 'runs', 'other');
		await writeRun(other, { name: 'other' });
		const linkTo = (address: string) => openLink(vscode.env.uriScheme, address);
		const call = async (tool: string, input: object) => {
			const { content } = await vscode.lm.invokeTool(`reasoninglab_${tool}`, { input, toolInvocationToken: undefined });
			const [part, note] = content;
			assert.ok(part instanceof vscode.LanguageModelTextPart);
			const answer = JSON.parse(part.value) as Record<string, unknown>;
			assert.equal(note instanceof vscode.LanguageModelTextPart, part.value.includes(linkTo('rl://')), tool);
			return answer;
		};
		const { metrics } = await call('read_metrics', { run, names: ['reward'] });
		const [reward] = metrics as { last: number; count: number; address: string; link: string }[];
		assert.deepEqual([reward?.count, reward?.last], [3, 0.75]);
		assert.equal(reward?.link, linkTo('rl://told/metric/reward'), 'chats open links, but not addresses');
		await assert.rejects(call('describe_run', { run: '/etc' }), /Unknown run/);
		await untilListed(api, run);
		const before = tabs().length;
		assert.deepEqual(await call('show_in_editor', { address: linkTo('rl://told/metric/reward?step=2') }), {
			shown: 'rl://told/metric/reward?step=2',
		});
		await until('the dashboard is shown', () => tabs().length === before + 1);
		await until('the notification offers Back', () => notices.at(-1)?.actions[0] === 'Back');
		// Clicks the button of the newest notification.
		await vscode.commands.executeCommand('notification.acceptPrimaryAction');
		await until('the dashboard, which was opened for the agent, is closed', () => tabs().length === before);
		await assert.rejects(call('show_in_editor', { address: 'rl://told/step/99' }), /99/);
		await assert.rejects(call('show_in_editor', {}), /either address or compare/);
		assert.equal(tabs().length, before, 'nothing was opened');
		await untilListed(api, other);
		const place = 'rl://told/step/2/group/1/completion/0#tokens=1-3';
		for (const [input, title] of [
			[{ compare: ['told', 'other'] }, 'Compare: told, other'],
			[{ address: 'rl://told/search/tree.jsonl/node/3' }, 'Tree: '],
			[{ address: place }, 'Rollouts: told'],
		] as const) {
			assert.deepEqual(await call('show_in_editor', input), { shown: Object.values(input)[0] });
			await until(`${title} is shown`, () => tabs().some((label) => label.startsWith(title)));
			await vscode.commands.executeCommand(commandIds.backFromAgent);
			assert.equal(tabs().length, before, `${title} is closed by Back`);
		}
		const range = { run: 'told', step: 2, group: 1, completion: 0, first_token: 1, last_token: 3 };
		assert.equal((await call('read_completion', range)).address, place, 'the answer has an address that can be shown');
		await assert.rejects(call('show_in_editor', { address: place.replace('1-3', '1-9999') }), /has only \d+ tokens/);
		await assert.rejects(call('show_in_editor', { compare: ['told', 'told'] }), /all the same run/);
		await assert.rejects(call('show_in_editor', { address: 'rl://told/search/tree.jsonl/node/99' }), /no node 99/);
		assert.equal(tabs().length, before, 'nothing was opened');
		await closeAll();
		await rowsAreRestored(api, (address) => call('show_in_editor', { address }));
		// Tools that act are declared, but rejected unless the user allows them. The test workbench confirms every
		// dialog.
		const report = { run: 'told', name: 'summary', text: 'Reward rises to [0.75](rl://told/metric/reward?step=3).' };
		await assert.rejects(call('write_report', report), /does not allow agents to act/);
		const allow = (value?: true) =>
			vscode.workspace.getConfiguration().update(settingIds.mcpActions, value, vscode.ConfigurationTarget.Global);
		// A run outside the workspace that the user has opened before.
		const outside = join(await realpath(await mkdtemp(join(tmpdir(), 'rl-outside-'))), 'outside');
		await writeRun(outside);
		await new RunRegistry().add(outside);
		await (await api.background.get()).agents.reportNotices.ready;
		await allow(true);
		try {
			const { path, checked_numbers } = await call('write_report', report);
			assert.equal(path, join(run, 'annotations', 'reports', 'summary.md'));
			assert.equal(checked_numbers, 1);
			assert.match(await readFile(path as string, 'utf8'), /0\.75/);
			const words = 'Reward rises to [0.75](rl://outside/metric/reward?step=3).';
			const { address } = await call('write_report', { run: 'outside', name: 'other', text: words });
			assert.equal(address, 'rl://outside/report/other');
			await until('the report is offered', () =>
				notices.some(({ text }) => text === 'New report on outside: other.md.'),
			);
			await assert.rejects(call('stop_run', { run: 'told' }), /not running/);
			assert.deepEqual((await call('list_jobs', {})).items, []);
		} finally {
			await rm(dirname(outside), { recursive: true, force: true });
			await allow();
		}
		await assert.rejects(call('pause_run', { run: 'told' }), /does not allow agents to act/);
	});

	test('policies are chat models that stream, show thinking, and stop when canceled', async function () {
		const api = await activated();
		const { chatModels } = (await api.background.get()).agents;
		if (typeof vscode.lm?.registerLanguageModelChatProvider !== 'function') this.skip();
		const file = join(workspaceFolder(), 'chat.json');
		const rules = [
			{ prompt: '*2 + 2*', say: '<think>Two and two.</think><answer>4</answer>' },
			{ say: 'Late.', delayMs: 100_000 },
		];
		const tags = { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] };
		await writeFile(file, JSON.stringify({ tags, rules }));
		const { store } = await api.policies.get();
		const spec = { kind: 'scripted', file } as const;
		await store.used(spec);
		const listed = await chatModels.provideLanguageModelChatInformation();
		const chosen = listed.find(({ name }) => name === 'chat.json');
		assert.ok(chosen, JSON.stringify(listed));
		const [model] = await vscode.lm.selectChatModels({ vendor: chatVendor, id: chosen.id });
		assert.ok(model, 'the editor lists the model');
		assert.equal(await model.countTokens('12345678'), 2);

		const ask = (text: string) => [vscode.LanguageModelChatMessage.User(text)];
		const reply = await model.sendRequest(ask('What is 2 + 2?'), {});
		let answer = '';
		const kinds = new Set<string>();
		for await (const part of reply.stream) {
			if (part instanceof vscode.LanguageModelTextPart) answer += part.value;
			kinds.add((part as object).constructor.name);
		}
		// Editors without thinking parts get the reasoning as text.
		assert.match(answer, kinds.size > 1 ? /^4$/ : /^Two and two\.4$/);

		const canceled = new vscode.CancellationTokenSource();
		const parts: vscode.LanguageModelResponsePart[] = [];
		const options = { toolMode: vscode.LanguageModelChatToolMode.Auto };
		const progress = { report: (part: vscode.LanguageModelResponsePart) => void parts.push(part) };
		const message = {
			role: vscode.LanguageModelChatMessageRole.User,
			content: [new vscode.LanguageModelTextPart('Something slow')],
		};
		const pending = chatModels.provideLanguageModelChatResponse(
			chosen,
			[{ ...message, name: undefined }],
			options,
			progress,
			canceled.token,
		);
		setTimeout(() => canceled.cancel(), 50);
		await pending;
		assert.deepEqual(parts, [], 'a canceled request returns only the text so far');
		const silent = { ...message, name: undefined, content: [] };
		const { token } = new vscode.CancellationTokenSource();
		await assert.rejects(
			Promise.resolve(chatModels.provideLanguageModelChatResponse(chosen, [silent], options, progress, token)),
			/no text/,
		);
		await vscode.commands.executeCommand(commandIds.removePolicy, chosen.id);
		assert.ok(!(await chatModels.provideLanguageModelChatInformation()).some(({ id }) => id === chosen.id));
	});

	test('a checkpoint of a run is a chat model that answers with its own tokens', async () => {
		const api = await activated();
		const { agents } = await api.background.get();
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		const run = join(workspaceFolder(), 'agents', 'runs', 'talks');
		await writeRun(run, { name: 'talks' });
		// Trained by the embedded engine to add numbers.
		const checkpoint = join(run, 'checkpoints', 'step_000040');
		await cp(join(extensionPath, 'test/fixtures/trainer/lab'), checkpoint, { recursive: true });
		await untilListed(api, run);
		const listed = await agents.chatModels.provideLanguageModelChatInformation();
		const offered = listed.find(({ name }) => name === 'talks, step 40');
		assert.ok(offered, JSON.stringify(listed.map(({ name }) => name)));
		const [model] = await vscode.lm.selectChatModels({ vendor: chatVendor, id: offered.id });
		assert.ok(model);
		const ask = async () => {
			const reply = await model.sendRequest([vscode.LanguageModelChatMessage.User('3+4=')], {
				modelOptions: { temperature: 0, max_tokens: 8 },
			});
			let text = '';
			for await (const part of reply.text) text += part;
			return text;
		};
		const text = await ask();
		assert.match(text, /^(?:<\/?(?:think|answer)>|[-+=*;\d ])+$/);
		assert.equal(await ask(), text);
	});

	test('addresses in Markdown are links, and every kind of address opens at its location as a URI', async () => {
		const api = await activated();
		const { agents } = await api.background.get();
		const run = join(workspaceFolder(), 'agents', 'runs', 'cited');
		await writeCitedRun(run, 'cited');
		await untilListed(api, run);
		const file = vscode.Uri.file(join(workspaceFolder(), 'agents', 'report.md'));
		const address = 'rl://cited/step/2/group/1/completion/0#tokens=1-3';
		await writeFile(file.fsPath, `# Report\n\nIt begins [here](${address}), see rl://cited/metric/reward?step=2.\n`);
		await vscode.workspace.openTextDocument(file);
		const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>('vscode.executeLinkProvider', file, 9);
		const ours = links.filter(({ target }) => target?.scheme === 'command');
		assert.deepEqual(
			ours.map(({ target }) => JSON.parse(target?.query ?? '')),
			[[address], ['rl://cited/metric/reward?step=2']],
		);
		const preview = await vscode.commands.executeCommand<string>(
			'markdown.api.render',
			await vscode.workspace.openTextDocument(file),
		);
		const targets = [...preview.matchAll(/ href="([^"]*)"/g)].map(([, target = '']) => target);
		const scheme = vscode.env.uriScheme;
		assert.deepEqual(targets, [openLink(scheme, address), openLink(scheme, 'rl://cited/metric/reward?step=2')]);
		await vscode.commands.executeCommand(commandIds.openAddress, targets[0]);
		await until('the rollouts are shown', () => tabs().some((label) => label === 'Rollouts: cited'));
		// Editors parse URIs, which decodes the query.
		const open = (text: string) => agents.addresses.handleUri(vscode.Uri.parse(openLink('vscode', text), true));
		const told = notices.length;
		const loose = join(workspaceFolder(), 'agents', 'loose.jsonl');
		await writeFile(loose, await readFile(join(run, 'searches/tree.jsonl')));
		for (const [opened, title] of [
			['rl://cited', 'cited'],
			['rl://cited/metric/reward?step=2', 'cited'],
			['rl://cited/step/2', 'Rollouts: cited'],
			['rl://cited/step/2/group/1', 'Rollouts: cited'],
			['rl://cited/step/2/group/1/completion/0', 'Rollouts: cited'],
			[address, 'Rollouts: cited'],
			['rl://cited/evaluation/problems?step=2', 'cited'],
			['rl://cited/evaluation/final', 'report.json'],
			['rl://cited/file/engine.log', 'engine.log'],
			['rl://cited/search/tree.jsonl', 'Tree: '],
			['rl://cited/search/tree.jsonl/node/3', 'Tree: '],
			['rl:///search/agents%2Floose.jsonl/node/3', 'Tree: '],
		] as const) {
			await closeAll();
			await open(opened);
			await until(`${opened} shows ${title}`, () => tabs().some((label) => label.startsWith(title)));
			assert.equal(tabs().length, 1, opened);
		}
		assert.equal(notices.length, told, 'no address failed to open');
		const wrong = [
			'rl://nowhere/step/1',
			'rl://cited/file/..%2F..%2Fsecret',
			'rl:///search/gone.jsonl',
			'https://example.com',
		];
		for (const one of wrong) await open(one);
		assert.equal(notices.length - told, wrong.length);
		assert.match(notices.at(-4)?.text ?? '', /No run named "nowhere"/);
		assert.match(notices.at(-2)?.text ?? '', /No workspace folder contains gone\.jsonl/);
		await closeAll();
	});
});

/** Shows a row in an open dataset editor, and restores the row that was open before. */
async function rowsAreRestored(api: ExtensionApi, show: (address: string) => Promise<unknown>): Promise<void> {
	const file = join(workspaceFolder(), 'agents', 'sums.jsonl');
	await writeFile(file, [0, 1, 2].map((i) => `{"prompt":"${i}+1=","answer":"${i + 1}"}`).join('\n'));
	const open = async (place: { readonly file: string; readonly row: number }) => {
		await vscode.commands.executeCommand(commandIds.openDataset, place);
	};
	const rows: number[] = [];
	await open({ file, row: 0 });
	const [panel] = api.datasets.panels;
	assert.ok(panel);
	const { session } = panel;
	const read = session.row.bind(session);
	session.row = (version, row) => {
		rows.push(row);
		return read(version, row);
	};
	await open({ file, row: 1 });
	await until('the page shows the user’s row', () => rows.at(-1) === 1);
	await show(`rl:///dataset/${encodeURIComponent('agents/sums.jsonl')}/row/2`);
	await until('the page shows the agent’s row', () => rows.at(-1) === 2);
	await vscode.commands.executeCommand(commandIds.backFromAgent);
	await until('the page shows the user’s row again', () => rows.at(-1) === 1);
	assert.equal(session.revealed, null);
	await closeAll();
}
