import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, extensionId } from '../../../src/extension/ids.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, untilListed, untilRun, workspaceFolder, writeRun } from '../support/laboratory.ts';

suite('exports', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
		folder = await realpath(await mkdtemp(join(tmpdir(), 'exports-')));
	});
	suiteTeardown(() => rm(folder, { recursive: true, force: true }));

	const exported = (run: string, argument: object) =>
		vscode.commands.executeCommand<{ written: number; leftOut: unknown[] } | undefined>(
			commandIds.exportRollouts,
			run,
			argument,
		);

	test("another trainer's rollouts are exported as pairs without prompting", async () => {
		const run = join(folder, 'trl');
		const { extensionPath } = vscode.extensions.getExtension(extensionId) as vscode.Extension<ExtensionApi>;
		await cp(join(extensionPath, 'test', 'fixtures', 'trl-run'), run, { recursive: true });
		await vscode.commands.executeCommand(commandIds.addRunFolder, run);
		await untilRun(api, run, 'the run is listed', () => true);
		const out = join(folder, 'pairs.jsonl');
		const summary = await exported(run, { as: 'dpo', out, step: 1 });
		assert.ok(summary !== undefined && summary.written > 0);
		const [first] = (await readFile(out, 'utf8')).split('\n');
		assert.deepEqual(Object.keys(JSON.parse(first as string)), ['prompt', 'chosen', 'rejected']);
	});

	test('a failed export shows one notification and leaves no file', async () => {
		const run = join(await realpath(workspaceFolder()), 'exports', 'runs', 'empty');
		await writeRun(run);
		await untilListed(api, run);
		const out = join(folder, 'labels.jsonl');
		assert.equal(await exported(run, { as: 'prm800k', out }), undefined);
		assert.equal(await exported(run, { as: 'nothing', out }), undefined);
		await assert.rejects(stat(out));
	});
});
