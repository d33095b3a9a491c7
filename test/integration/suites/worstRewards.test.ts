import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { settingIds } from '../../../src/extension/ids.ts';
import { badRewards } from '../../support/badRewards.ts';
import { activated, workspaceFolder } from '../support/laboratory.ts';

const limits = {
	[settingIds.rowTimeout]: 20,
	[settingIds.batchTimeout]: 40,
	[settingIds.memoryLimit]: 512,
};
/** Short time limits for the reward that runs into them. */
const shortLimits = { [settingIds.rowTimeout]: 0.5, [settingIds.batchTimeout]: 1.5 };
const endless = 'an infinite loop';
/**
 * A reward that must be stopped, and one whose messages are too long for the editor. The others reach the editor in the
 * same way: test/unit/rewards/hostBadInput.test.ts covers them in both languages,
 * test/unit/extension/rewards/rewardSession.test.ts the messages, and test/acceptance/badRewards.test.ts all of them in
 * the editor, including the event loop delay.
 */
const chosen = [endless, 'an exception of a megabyte on every row'];

suite('misbehaving rewards', () => {
	let folder: string;

	const configure = async (values: Readonly<Record<string, number | undefined>>) => {
		for (const [id, value] of Object.entries(values)) {
			await vscode.workspace.getConfiguration().update(id, value, vscode.ConfigurationTarget.Workspace);
		}
	};

	suiteSetup(async () => {
		await activated();
		folder = join(workspaceFolder(), 'worst');
		await mkdir(folder, { recursive: true });
		const rows = Array.from({ length: 60 }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: String(i + 1) }));
		await writeFile(join(folder, 'train.jsonl'), rows.join('\n'));
	});

	suiteTeardown(async () => {
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		await configure({
			[settingIds.rowTimeout]: undefined,
			[settingIds.batchTimeout]: undefined,
			[settingIds.memoryLimit]: undefined,
		});
	});

	for (const [i, name] of chosen.entries()) {
		test(`${name}: verification finishes and reports the problem`, async function () {
			this.timeout(240_000);
			const api = await activated();
			await configure({ ...limits, ...(name === endless ? shortLimits : {}) });
			const bad = badRewards[name];
			assert.ok(bad, name);
			const path = join(folder, `bad${i}.reward.mjs`);
			await writeFile(path, bad.node);
			const { verifications } = await api.rewards.get();
			const document = await vscode.workspace.openTextDocument(vscode.Uri.file(path));
			await vscode.window.showTextDocument(document);
			const session = verifications.session(path);
			await session.verify();
			await session.settled();
			const { state } = session;
			assert.equal(state.phase, 'done', state.failure?.message);
			const result = vscode.languages.getDiagnostics(vscode.Uri.file(path)).map(({ message }) => message);
			assert.match(result.join('\n'), new RegExp(bad.says, 'm'));
		});
	}
});
