import assert from 'node:assert/strict';
import * as vscode from 'vscode';
import { commandIds, extensionId } from '../../../src/extension/ids.ts';
import { activated } from '../support/laboratory.ts';

suite('activation', () => {
	test('the extension activates and registers all the commands it contributes', async () => {
		// Activation time is measured without other activity in test/acceptance/packaged.test.ts.
		await activated();
		const registered = new Set(await vscode.commands.getCommands(true));
		const contributed: { command: string }[] =
			vscode.extensions.getExtension(extensionId)?.packageJSON.contributes.commands;
		assert.deepEqual(
			contributed.map(({ command }) => command).filter((command) => !registered.has(command)),
			[],
		);
		assert.equal(contributed.length, Object.keys(commandIds).length);
	});
});
