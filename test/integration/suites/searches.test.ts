import assert from 'node:assert/strict';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, panelTypes } from '../../../src/extension/ids.ts';
import { presentSearch } from '../../../src/extension/search/searchPresentation.ts';
import type { SearchView } from '../../../src/extension/search/searchStore.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, codeLenses, until, workspaceFolder } from '../support/laboratory.ts';

const rule = {
	say: [
		{ text: '<think>17 + 25\nis 42</think>\n<answer>42</answer>', weight: 2 },
		{ text: '<think>17 + 25\nis 43</think>\n<answer>43</answer>', weight: 1 },
	],
};
const script = {
	name: 'adder',
	tags: { think: ['<think>', '</think>'], answer: ['<answer>', '</answer>'] },
	rules: [rule],
};

function treeTabs(): vscode.Tab[] {
	return vscode.window.tabGroups.all
		.flatMap(({ tabs }) => tabs)
		.filter(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.tree));
}

function untilLens(uri: vscode.Uri): Promise<vscode.CodeLens> {
	return until('the code lens of the row', async () => {
		return (await codeLenses(uri)).find(({ command }) => command?.command === commandIds.searchRow);
	});
}

suite('searches', () => {
	let api: ExtensionApi;
	let folder: string;
	let file: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'sums-to-search');
		await mkdir(folder, { recursive: true });
		file = join(folder, 'script.json');
		await writeFile(file, JSON.stringify(script));
	});

	suiteTeardown(async () => {
		await vscode.window.tabGroups.close(treeTabs());
		await rm(folder, { recursive: true, force: true });
		await rm(join(workspaceFolder(), 'searches'), { recursive: true, force: true });
	});

	const preset = () => ({
		policy: { kind: 'scripted', file },
		strategy: 'mcts',
		params: {},
		guide: { use: 'mean-logprob' },
		budget: { simulations: 10 },
	});

	async function untilView(log: string, what: string, holds: (view: SearchView) => boolean): Promise<SearchView> {
		const { store } = await api.searches.get();
		for (const end = Date.now() + 60_000; Date.now() < end; ) {
			await store.refresh();
			const view = store.get(log);
			if (view !== undefined && holds(view)) return view;
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		throw new Error(`Timed out waiting until ${what}`);
	}

	test('a search starts from its command, its tree opens, and the view lists it with its result', async () => {
		const problem = { prompt: 'What is 17 + 25?', answer: '42' };
		const log: string = await vscode.commands.executeCommand(commandIds.newSearch, { ...preset(), problem });
		assert.ok(log.startsWith(join(workspaceFolder(), 'searches')), log);
		const view = await untilView(log, 'the search ends', ({ running, end }) => !running && end !== null);
		assert.equal(view.end?.stop, 'simulations');
		assert.match(presentSearch(view).description, /^mcts · \d+ nodes · answer 4[23] · (correct|incorrect)$/);
		await until('the tree', () => treeTabs().length === 1);
		// Open it again: the existing panel must come to the front.
		await vscode.commands.executeCommand(commandIds.openSearchTree, log);
		assert.equal(treeTabs().length, 1);
		const { searches } = await api.searches.get();
		assert.ok(searches.pid !== null);
	});

	test('a dataset row is searched from its CodeLens', async () => {
		const rows = join(folder, 'rows.jsonl');
		await writeFile(rows, '{"question":"What is 17 + 25?","answer":"so it is\\n#### 42"}\n{"nothing":1}\n');
		const uri = vscode.Uri.file(rows);
		await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri));
		const lens = await untilLens(uri);
		assert.equal(lens.range.start.line, 0);
		const options = { ...preset(), strategy: 'self-consistency', params: { n: 3 }, guide: null, open: false };
		const log: string = await vscode.commands.executeCommand(commandIds.searchRow, uri, 0, options);
		const view = await untilView(log, 'the search ends', ({ end }) => end !== null);
		assert.deepEqual([view.start.problem.prompt, view.start.problem.answer], ['What is 17 + 25?', '42']);
		assert.equal(await vscode.commands.executeCommand(commandIds.searchRow, uri, 1, options), undefined);
	});

	test('a search is continued, stopped, renamed and compared', async () => {
		const slow = join(folder, 'slow.json');
		await writeFile(slow, JSON.stringify({ ...script, rules: [{ ...rule, delayMs: 50 }] }));
		const spec = { ...preset(), policy: { kind: 'scripted', file: slow }, budget: { simulations: 3 }, open: false };
		const problem = { prompt: 'What is 17 + 25?' };
		const log: string = await vscode.commands.executeCommand(commandIds.newSearch, { ...spec, problem });
		await untilView(log, 'the search ends', ({ end, running }) => end !== null && !running);
		assert.equal(await vscode.commands.executeCommand(commandIds.runMoreOfSearch, log, { simulations: 100_000 }), true);
		await untilView(log, 'the search runs', ({ running }) => running);
		// A running search cannot be renamed or started again.
		assert.equal(await vscode.commands.executeCommand(commandIds.renameSearch, log, 'another'), undefined);
		await vscode.commands.executeCommand(commandIds.stopSearch, log);
		const stopped = await untilView(log, 'the search is stopped', ({ running, end }) => !running && end !== null);
		assert.equal(stopped.end?.stop, 'stopped');
		const renamed: string = await vscode.commands.executeCommand(commandIds.renameSearch, log, 'A sum, searched');
		assert.ok(renamed.endsWith('A sum, searched.jsonl'));
		const view = await untilView(renamed, 'the search has its new name', () => true);
		assert.equal(presentSearch(view).label, 'A sum, searched');
		await vscode.commands.executeCommand(commandIds.compareSearches, renamed, join(folder, 'none.jsonl'));
		await vscode.commands.executeCommand(commandIds.openSearchLog, renamed);
		assert.equal(vscode.window.activeTextEditor?.document.uri.fsPath, renamed);
	});

	test('a search that cannot start reports why and leaves no log', async () => {
		const log = join(folder, 'none.jsonl');
		const problem = { prompt: 'p' };
		const missing = { ...preset(), problem, log, policy: { kind: 'scripted', file: join(folder, 'missing.json') } };
		assert.equal(await vscode.commands.executeCommand(commandIds.newSearch, missing), undefined);
		await assert.rejects(stat(log));
		assert.equal(await vscode.commands.executeCommand(commandIds.openSearchTree, log), undefined);
		const text = await readFile(file, 'utf8');
		assert.deepEqual(JSON.parse(text), script);
	});
});
