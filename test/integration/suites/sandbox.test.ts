import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import * as vscode from 'vscode';
import { commandIds } from '../../../src/extension/ids.ts';
import type { IsolationReport } from '../../../src/protocol/isolation.ts';
import { activated, notices, until, workspaceFolder } from '../support/laboratory.ts';

suite('sandbox in the editor', () => {
	suiteSetup(activated);

	test('the check opens a read-only report and shows the results in a notification', async function () {
		if (spawnSync('bwrap', ['--version']).status !== 0) this.skip();
		this.timeout(240_000);
		notices.length = 0;
		const report = await vscode.commands.executeCommand<IsolationReport>(commandIds.checkSandbox);
		assert.equal(report.kind, 'bubblewrap');
		assert.deepEqual(
			report.attempts.filter(({ outcome }) => outcome !== 'held' && outcome !== 'skipped'),
			[],
		);
		await until('a notification', () => notices.some(({ text }) => /blocked all \d+ escape attempts/.test(text)));
		const document = vscode.window.activeTextEditor?.document;
		assert.ok(document);
		assert.match(document.uri.path, /\/Sandbox isolation\.md$/);
		assert.equal(document.languageId, 'markdown');
		assert.notEqual(document.uri.scheme, 'file');
		assert.match(document.getText(), /^# Sandbox isolation\n/);
		const left = await vscode.workspace.fs.readDirectory(vscode.Uri.file(workspaceFolder()));
		assert.deepEqual(
			left.filter(([name]) => name.startsWith('.reasoning-lab-')),
			[],
		);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('a missing sandbox is rejected with advice', async function () {
		this.timeout(240_000);
		const settings = vscode.workspace.getConfiguration();
		await settings.update('reasoningLab.sandbox.mode', 'container:no/such-image', vscode.ConfigurationTarget.Workspace);
		try {
			notices.length = 0;
			assert.equal(await vscode.commands.executeCommand(commandIds.checkSandbox), undefined);
			const notice = await until('a notification', () => notices[0]);
			assert.equal(notice.level, 'error');
			assert.match(notice.text, /^Model-written code is not run without a sandbox: /);
		} finally {
			await settings.update('reasoningLab.sandbox.mode', undefined, vscode.ConfigurationTarget.Workspace);
		}
	});
});
