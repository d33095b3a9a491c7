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

	test('writes an agent configuration whose command starts the MCP server in a terminal', async () => {
		const api = await activated();
		await (await api.background.get()).terminalCommand;
		const folder = join(workspaceFolder(), 'new-for-agents');
		await vscode.commands.executeCommand(commandIds.newProject, {
			template: 'starter',
			folder: vscode.Uri.file(folder),
			open: false,
		});
		const { mcpServers } = JSON.parse(await readFile(join(folder, '.mcp.json'), 'utf8'));
		const { command, args } = mcpServers['reasoning-lab'];
		const requests = [
			{
				id: 1,
				method: 'initialize',
				params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'agent', version: '1' } },
			},
			{ method: 'notifications/initialized' },
			{ id: 2, method: 'tools/call', params: { name: 'check_recipe', arguments: { path: 'starter.recipe.json' } } },
		];
		const lines = requests.map((request) => `${JSON.stringify({ jsonrpc: '2.0', ...request })}\n`);
		await writeFile(join(folder, 'requests'), lines.join(''));
		// Start it like an agent in a terminal. Keep the input open until it answers, because it exits when the input ends.
		const answers = join(folder, 'answers');
		const script = `{ cat requests; until grep -q '"id":2' answers; do sleep 0.2; done; } | "$@" > answers`;
		const terminal = vscode.window.createTerminal({
			name: 'agent',
			cwd: folder,
			shellPath: '/bin/sh',
			shellArgs: ['-c', script, 'agent', command, ...args],
		});
		try {
			let text = '';
			for (const end = Date.now() + 60_000; !text.includes('"id":2') && Date.now() < end; ) {
				await new Promise((resolve) => setTimeout(resolve, 100));
				text = await readFile(answers, 'utf8').catch(() => '');
			}
			const answer = text.split('\n').find((line) => line.includes('"id":2')) ?? assert.fail('no answer');
			const { result } = JSON.parse(answer);
			assert.equal(result.structuredContent?.valid, true, answer);
		} finally {
			terminal.dispose();
		}
	});

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
