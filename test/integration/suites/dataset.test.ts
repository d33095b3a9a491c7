import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, viewTypes } from '../../../src/extension/ids.ts';
import type { DatasetPanel } from '../../../src/extension/panels/dataset/datasetPanel.ts';
import { useInRecipe } from '../../../src/extension/panels/dataset/useInRecipe.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

suite('datasets', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = join(workspaceFolder(), 'datasets');
		await mkdir(folder, { recursive: true });
	});

	suiteTeardown(async () => {
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		await rm(folder, { recursive: true, force: true });
	});

	const typeOfTab = () => {
		const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
		return input instanceof vscode.TabInputCustom ? input.viewType : null;
	};
	/** Returns the only open editor once it has read its rows. */
	const panel = async (): Promise<DatasetPanel> => {
		for (let i = 0; i < 200 && api.datasets.panels[0]?.session.stamp == null; i++) {
			await new Promise((resolve) => setTimeout(resolve, 50));
		}
		const [open] = api.datasets.panels;
		assert.ok(open);
		await open.session.settled();
		return open;
	};

	test('a file of rows opens as text by default and as a dataset with the command', async () => {
		const file = vscode.Uri.file(join(folder, 'train.jsonl'));
		const rows = [1, 2, 3].map((i) => JSON.stringify({ question: `What is ${i}?`, answer: i }));
		await writeFile(file.fsPath, `${rows.join('\n')}\n`);
		await vscode.commands.executeCommand('vscode.open', file);
		assert.equal(typeOfTab(), null);
		await vscode.commands.executeCommand(commandIds.openDataset, file);
		assert.equal(typeOfTab(), viewTypes.dataset);
		const { session } = await panel();
		assert.equal(session.shownRows, 3);
		assert.equal(session.mapping.prompt, 'question');
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		assert.deepEqual(api.datasets.panels, []);
	});

	test('an address opens a row, in a new or an open editor', async () => {
		const file = join(folder, 'addressed.jsonl');
		const rows = [1, 2, 3].map((i) => JSON.stringify({ question: `What is ${i}?`, answer: i }));
		await writeFile(file, `${rows.join('\n')}\n`);
		const open = (row: number) =>
			vscode.commands.executeCommand(commandIds.openAddress, `rl:///dataset/datasets%2Faddressed.jsonl/row/${row}`);
		await open(2);
		assert.equal(typeOfTab(), viewTypes.dataset);
		const { session } = await panel();
		assert.deepEqual(session.revealed, { number: 1, row: 2 });
		await open(0);
		assert.equal(api.datasets.panels.length, 1);
		assert.deepEqual(session.revealed, { number: 2, row: 0 });
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('Parquet opens as a dataset', async () => {
		const fixture = 'test/fixtures/trl-quirks/completions/completions_00010.parquet';
		const file = join(folder, 'rows.parquet');
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		await writeFile(file, await readFile(join(extensionPath, fixture)));
		await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file));
		assert.equal(typeOfTab(), viewTypes.parquet);
		const { session } = await panel();
		assert.ok(session.shownRows > 0);
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('a folder of Parquet files opens as one dataset and updates when its files change', async () => {
		const fixtures = 'test/fixtures/trl-quirks/completions';
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		const parts = join(folder, 'parts');
		await mkdir(parts);
		const source = await readFile(join(extensionPath, fixtures, 'completions_00010.parquet'));
		for (const name of ['part-0.parquet', 'part-1.parquet']) await writeFile(join(parts, name), source);
		await vscode.commands.executeCommand(commandIds.openDataset, vscode.Uri.file(parts));
		assert.equal(typeOfTab(), viewTypes.dataset);
		const { session } = await panel();
		const rows = session.shownRows;
		assert.ok(rows > 0 && rows % 2 === 0, `${rows}`);
		await writeFile(join(parts, 'part-2.parquet'), source);
		for (let i = 0; i < 200 && !session.stale; i++) await new Promise((resolve) => setTimeout(resolve, 50));
		await session.again();
		await session.settled();
		assert.equal(session.shownRows, (rows / 2) * 3);
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('an Arrow file and a save_to_disk folder open as datasets', async () => {
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		const fixtures = join(extensionPath, 'test/fixtures/datasets');
		const file = join(folder, 'rows.arrow');
		await writeFile(file, await readFile(join(fixtures, 'types/stream.arrow')));
		await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file));
		assert.equal(typeOfTab(), viewTypes.parquet);
		assert.equal((await panel()).session.shownRows, 7);
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		await cp(join(fixtures, 'saved'), join(folder, 'saved'), { recursive: true });
		await vscode.commands.executeCommand(commandIds.openDataset, vscode.Uri.file(join(folder, 'saved')));
		const { session } = await panel();
		assert.deepEqual([session.shownRows, session.mapping.answer], [40, 'reward_model.ground_truth']);
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('a generated task opens and is added to a recipe by an edit', async () => {
		await vscode.commands.executeCommand(commandIds.openDataset, { task: 'addition', digits: 2, rows: 50 });
		assert.equal(typeOfTab(), viewTypes.dataset);
		const { session } = await panel();
		assert.equal(session.shownRows, 50);
		const recipe = vscode.Uri.file(join(folder, 'a.recipe.json'));
		await writeFile(recipe.fsPath, '{\n\t// kept\n\t"dataset": { "task": "countdown" }\n}\n');
		await useInRecipe(() => ({ task: 'addition', digits: 2 }), recipe);
		const document = await vscode.workspace.openTextDocument(recipe);
		assert.equal(document.getText(), '{\n\t// kept\n\t"dataset": { "task": "addition", "digits": 2 }\n}\n');
		await document.save();
	});
});
