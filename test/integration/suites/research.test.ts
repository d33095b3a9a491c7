import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../../../src/extension/ids.ts';
import { presentSearch } from '../../../src/extension/search/searchPresentation.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

const said = (value: object) => JSON.stringify(value);
const script = {
	rules: [
		{
			message: '*What the tools have found*',
			say: said({
				answer: 'The baseline of GRPO is the mean reward of its group [1].',
				reflection: { missing: [], superfluous: [] },
				search_queries: [],
				references: ['S1'],
			}),
		},
		{
			say: said({
				answer: 'I do not know.',
				reflection: { missing: ['the baseline of GRPO'], superfluous: [] },
				search_queries: ['GRPO baseline'],
			}),
		},
	],
};

suite('research', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'to-research');
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, 'policy.json'), JSON.stringify(script));
		await writeFile(join(folder, 'grpo.md'), 'The baseline of GRPO is the mean reward of its group.\n');
	});

	suiteTeardown(async () => {
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		await rm(folder, { recursive: true, force: true });
	});

	test('a question is researched and its report opens as Markdown source', async () => {
		const log: string = await vscode.commands.executeCommand(commandIds.research, {
			question: 'What is the baseline of GRPO?',
			tools: [{ use: 'workspace', folder }],
			policy: { kind: 'scripted', file: join(folder, 'policy.json') },
			params: {},
			budget: { tokens: 5000 },
			open: false,
		});
		const { store } = await api.searches.get();
		for (const end = Date.now() + 60_000; store.get(log)?.end == null && Date.now() < end; ) {
			await store.refresh();
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		const view = store.get(log);
		assert.ok(view?.end);
		assert.equal(view.end.stop, 'solved');
		assert.ok(presentSearch(view).contextValue.split(' ').includes('research'));
		const target = join(folder, 'report.md');
		assert.equal(await vscode.commands.executeCommand(commandIds.exportResearchReport, log, target), target);
		const text = await readFile(target, 'utf8');
		assert.match(
			text,
			/^# What is the baseline of GRPO\?\n\n## Answer\n\nThe baseline of GRPO is the mean reward of its group \\\[1\\\]\./,
		);
		assert.match(text, /\*\*\\\[1\\\]\*\* grpo\.md:1 \(query 1 in the log\): supports the citation/);
		const editor = vscode.window.activeTextEditor;
		assert.deepEqual([editor?.document.uri.fsPath, editor?.document.languageId], [target, 'markdown']);
		// Other searches have no report.
		const none = join(folder, 'none.jsonl');
		assert.equal(await vscode.commands.executeCommand(commandIds.exportResearchReport, none, target), undefined);
	});
});
