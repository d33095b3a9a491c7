import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../../../src/extension/ids.ts';
import { activated, until, workspaceFolder } from '../support/laboratory.ts';

const recipe = {
	format: 1,
	name: 'faulty',
	dataset: { task: 'addition', digits: 2 },
	model: { layers: 1, width: 30, heads: 4 },
	stages: [{ type: 'sft', steps: 5, learning_rate: 0.001 }],
};

suite('recipes', () => {
	let folder: string;

	suiteSetup(async () => {
		await activated();
		folder = join(workspaceFolder(), 'recipes');
		await mkdir(folder, { recursive: true });
	});

	async function open(name: string, value: unknown): Promise<vscode.TextDocument> {
		const path = join(folder, name);
		await writeFile(path, typeof value === 'string' ? value : JSON.stringify(value, null, '\t'));
		return vscode.workspace.openTextDocument(vscode.Uri.file(path));
	}

	function faults(document: vscode.TextDocument): vscode.Diagnostic[] {
		return vscode.languages.getDiagnostics(document.uri).filter((diagnostic) => diagnostic.source === 'Reasoning Lab');
	}

	test('quick fixes correct errors and keep comments', async () => {
		const text = `// mine\n${JSON.stringify({ ...recipe, model: { layers: 1, width: 32, heads: 4 } }, null, '\t')}`;
		const document = await open('fixable.recipe.json', text.replace('"steps": 5', '"stepz": 5'));
		const at = document.positionAt(document.getText().indexOf('stepz'));
		const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>(
			'vscode.executeCodeActionProvider',
			document.uri,
			new vscode.Range(at, at),
		);
		const fix = actions.find(({ title }) => title === 'Change to "steps"');
		assert.ok(fix?.edit, actions.map(({ title }) => title).join());
		await vscode.workspace.applyEdit(fix.edit);
		assert.equal(document.getText(), text);
	});

	test('are JSON with comments', async () => {
		const document = await open('comments.recipe.json', '// a comment\n{}');
		assert.equal(document.languageId, 'jsonc');
	});

	test('the schema describes keys, suggests values and flags unknown keys', async function () {
		this.timeout(240_000);
		const stages = [...recipe.stages, { type: 'grpo', steps: 5, learning_rate: 0.001 }];
		const model = { layers: 1, width: 32, heads: 4 };
		const text = JSON.stringify({ ...recipe, model, stages, unheard: 1 }, null, '\t');
		const document = await open('schema.recipe.json', text);
		await vscode.window.showTextDocument(document);
		const at = (word: string, offset = 1) => document.positionAt(document.getText().indexOf(word) + offset);
		const [marked] = await until(
			'the schema to be read',
			() => {
				const found = vscode.languages
					.getDiagnostics(document.uri)
					.filter((diagnostic) => document.getText(diagnostic.range).includes('unheard'));
				return found.length > 0 && found;
			},
			40,
		);
		assert.notEqual(marked?.source, 'Reasoning Lab');
		const hovers = await vscode.commands.executeCommand<vscode.Hover[]>(
			'vscode.executeHoverProvider',
			document.uri,
			at('"learning_rate"', 3),
		);
		const words = hovers
			.flatMap((hover) => hover.contents.map((c) => (typeof c === 'string' ? c : c.value)))
			.join('\n');
		assert.match(words, /AdamW/);
		const links = await vscode.commands.executeCommand<vscode.DocumentLink[]>(
			'vscode.executeLinkProvider',
			document.uri,
		);
		const link = links.find(({ range }) => document.getText(range) === '"grpo"');
		assert.equal(link?.tooltip, 'Policy losses and advantages');
		assert.equal(link.target?.path, 'markdown.showPreviewToSide');
		const [page] = JSON.parse(link.target.query);
		assert.match(String(await vscode.workspace.fs.readFile(vscode.Uri.from(page))), /^# Policy losses/);
		const offers = await vscode.commands.executeCommand<vscode.CompletionList>(
			'vscode.executeCompletionItemProvider',
			document.uri,
			at('"addition"', 1),
		);
		const labels = offers.items.map((item) => (typeof item.label === 'string' ? item.label : item.label.label));
		assert.ok(labels.includes('"countdown"'), labels.join());
	});

	test('a conflict between keys is flagged at its key during editing and cleared when fixed', async () => {
		const document = await open('faulty.recipe.json', recipe);
		const [fault] = await until('the diagnostic', () => faults(document).length > 0 && faults(document));
		assert.match(fault?.message ?? '', /"width" 30 is not a multiple of "heads" 4/);
		assert.equal(document.getText(fault?.range), '"width"');
		const edit = new vscode.WorkspaceEdit();
		const value = document.getText().indexOf('30');
		edit.replace(document.uri, new vscode.Range(document.positionAt(value), document.positionAt(value + 2)), '32');
		await vscode.workspace.applyEdit(edit);
		await until('no diagnostic', () => faults(document).length === 0);
	});

	test('a missing dataset is flagged at its path', async () => {
		const document = await open('missing.recipe.json', {
			...recipe,
			model: { layers: 1, width: 32, heads: 4 },
			dataset: { path: 'data/nothing.jsonl' },
		});
		const [fault] = await until('the diagnostic', () => faults(document).length > 0 && faults(document));
		assert.match(fault?.message ?? '', /The file "data\/nothing\.jsonl" does not exist/);
		assert.equal(document.getText(fault?.range), '"data/nothing.jsonl"');
	});

	test('an invalid recipe is not started: its errors are flagged and no run is created', async () => {
		const document = await open('unstartable.recipe.json', { ...recipe, learning_rat: 1 });
		assert.equal(await vscode.commands.executeCommand(commandIds.startRun, document.uri), undefined);
		assert.match(faults(document)[0]?.message ?? '', /"learning_rat" is not a valid key/);
		assert.ok(!(await readdir(folder)).includes('runs'));
	});
});
