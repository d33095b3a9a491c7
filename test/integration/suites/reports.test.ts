import assert from 'node:assert/strict';
import { cp, mkdtemp, readFile, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import type { EvaluationResult } from '../../../src/extension/evaluation/evaluationProcess.ts';
import { commandIds, extensionId } from '../../../src/extension/ids.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { activated, until, untilListed, workspaceFolder, writeRun } from '../support/laboratory.ts';

suite('reports and evaluations', () => {
	let api: ExtensionApi;
	let folder: string;
	let run: string;

	suiteSetup(async () => {
		api = await activated();
		folder = await realpath(await mkdtemp(join(tmpdir(), 'reports-')));
		run = join(await realpath(workspaceFolder()), 'reports', 'runs', 'lab');
		await writeRun(run);
		const { extensionPath } = vscode.extensions.getExtension(extensionId) as vscode.Extension<ExtensionApi>;
		const checkpoint = join(extensionPath, 'test', 'fixtures', 'trainer', 'lab');
		const { step } = JSON.parse(await readFile(join(checkpoint, 'checkpoint.json'), 'utf8')) as { step: number };
		checkpointStep = step;
		await cp(checkpoint, join(run, 'checkpoints', `step_${String(step).padStart(6, '0')}`), { recursive: true });
		await untilListed(api, run);
	});
	suiteTeardown(() => rm(folder, { recursive: true, force: true }));
	let checkpointStep = 0;

	test('a checkpoint is evaluated on a file, and the result is stored with the run and shown', async () => {
		const dataset = join(folder, 'sums.jsonl');
		const rows = [1, 2, 3, 4].map((i) => ({ prompt: `${i}+${i}=`, answer: 2 * i }));
		await writeFile(dataset, rows.map((row) => JSON.stringify(row)).join('\n'));
		const result = await vscode.commands.executeCommand<EvaluationResult | undefined>(
			commandIds.evaluateCheckpoint,
			run,
			{ step: checkpointStep, dataset, samples: 2 },
		);
		assert.ok(result !== undefined);
		assert.deepEqual([result.done, result.total], [4, 4]);
		assert.ok(result.folder.startsWith(join(run, 'annotations', 'evaluations')));
		assert.ok((await stat(join(result.folder, 'report.json'))).isFile());
		// The result is rendered in a separate tab.
		const tabs = () => vscode.window.tabGroups.all.flatMap((group) => group.tabs.map(({ label }) => label));
		await until('the evaluations are shown', () => tabs().some((label) => label.includes('Evaluations of fixture')));
		const text = await vscode.commands.executeCommand<string>(commandIds.showEvaluations, result.folder);
		assert.match(text, /^# Evaluations of fixture\n[\s\S]*\| sums-step\\_/);
		// The evaluation is listed below its run.
		await until('the evaluation is listed', () => api.runsTree.getChildren(run).includes(result.folder));
		assert.match(String(api.runsTree.getTreeItem(result.folder).description), /^pass@1 [\d.]+%/);
		assert.equal(api.runsTree.getParent(result.folder), run);
	});

	test('a run report is a single file, and an invalid argument shows one notification', async () => {
		const out = join(folder, 'report.html');
		assert.equal(await vscode.commands.executeCommand(commandIds.exportReport, run, { out }), out);
		const page = await readFile(out, 'utf8');
		assert.match(page, /<!DOCTYPE html>[\s\S]*sums-step_/);
		assert.equal(
			await vscode.commands.executeCommand(commandIds.exportReport, run, { out: 'relative.html' }),
			undefined,
		);
	});
});
