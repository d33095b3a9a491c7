import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { parseRecipe } from '../../../src/core/recipe/parseRecipe.ts';
import { commandIds } from '../../../src/extension/ids.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

suite('New Project', () => {
	suiteSetup(activated);

	for (const [template, recipe] of [
		['starter', 'starter.recipe.json'],
		['demo', 'addition.recipe.json'],
	] as const) {
		test(`scaffolds ${template} with a runnable recipe`, async () => {
			const folder = join(workspaceFolder(), `new-${template}`);
			const uri = await vscode.commands.executeCommand<vscode.Uri>(commandIds.newProject, {
				template,
				folder: vscode.Uri.file(folder),
				open: false,
			});
			assert.equal(uri?.fsPath, join(folder, recipe));
			const parsed = parseRecipe(await readFile(uri.fsPath, 'utf8'));
			assert.ok(parsed.ok, JSON.stringify(parsed));
			assert.match(await readFile(join(folder, '.gitignore'), 'utf8'), /^runs\/$/m);
			const { dataset } = parsed.recipe;
			if ('path' in dataset && dataset.path !== undefined) {
				const lines = (await readFile(join(folder, dataset.path), 'utf8')).trim().split('\n');
				const row = JSON.parse(lines[0] ?? '');
				assert.ok(row.prompt && row.answer && row.solution);
			}
		});
	}

	test('keeps existing files when asked to', async () => {
		const folder = join(workspaceFolder(), 'new-kept');
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, 'README.md'), 'mine');
		const answers = { template: 'starter', folder: vscode.Uri.file(folder), open: false };
		await vscode.commands.executeCommand(commandIds.newProject, { ...answers, onConflict: 'fail' });
		assert.equal(await readFile(join(folder, 'README.md'), 'utf8'), 'mine');
		await vscode.commands.executeCommand(commandIds.newProject, { ...answers, onConflict: 'keep' });
		assert.equal(await readFile(join(folder, 'README.md'), 'utf8'), 'mine');
		await readFile(join(folder, 'starter.recipe.json'));
	});
});
