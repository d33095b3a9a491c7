import assert from 'node:assert/strict';
import * as vscode from 'vscode';

const id = 'reasoning-lab.reasoning-lab';

suite('activation', () => {
	test('the extension activates and registers every command that it contributes', async () => {
		const extension = vscode.extensions.getExtension(id);
		assert.ok(extension, `${id} is not installed`);
		await extension.activate();
		assert.ok(extension.isActive);
		const registered = new Set(await vscode.commands.getCommands(true));
		const contributed: { command: string }[] = extension.packageJSON.contributes.commands;
		assert.ok(contributed.length > 0);
		const missing = contributed.map(({ command }) => command).filter((command) => !registered.has(command));
		assert.deepEqual(missing, []);
	});
});
