import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, panelTypes } from '../../../src/extension/ids.ts';
import { isLive } from '../../../src/extension/runView.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { listCheckpoints } from '../../../src/runs/runReader.ts';
import { pytorchRecipe, slowReward } from '../../e2e/smallRecipe.ts';
import { activated, notices, until, untilRun, workspaceFolder } from '../support/laboratory.ts';

async function events(folder: string): Promise<string[]> {
	const text = await readFile(join(folder, 'events.jsonl'), 'utf8');
	return text
		.split('\n')
		.filter(Boolean)
		.map((line) => JSON.parse(line).type as string);
}

suite('run control', () => {
	let api: ExtensionApi;
	let folder: string;

	suiteSetup(async () => {
		api = await activated();
	});

	suiteTeardown(async () => {
		for (const view of api.runStore.runs.filter(isLive)) {
			await vscode.commands.executeCommand(commandIds.stopRun, view.folder);
		}
	});

	test('starts the demo, opens its dashboard and lists it while it runs', async function () {
		this.timeout(240_000);
		const demo = await vscode.commands.executeCommand<string>(commandIds.startDemoRun);
		assert.ok(demo, JSON.stringify(notices));
		await untilRun(
			api,
			demo,
			'the run trains',
			(view) => view.status === 'running' && (view.record?.step ?? 0) >= 2,
			60,
		);
		assert.match(api.runsTree.getTreeItem(demo).contextValue ?? '', /\blive\b.*\brunning\b/);
		await until('a dashboard tab', () =>
			vscode.window.tabGroups.all
				.flatMap((group) => group.tabs)
				.some(({ input }) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.dashboard)),
		);
		await vscode.commands.executeCommand(commandIds.stopRun, demo);
		await untilRun(api, demo, 'stopped', (view) => view.status === 'stopped');
	});

	test('starts a recipe', async function () {
		this.timeout(240_000);
		// A smaller run for the other tests, so that they don't keep the machine busy.
		const place = join(workspaceFolder(), 'controlled');
		await mkdir(place, { recursive: true });
		await writeFile(join(place, 'slow.reward.ts'), slowReward);
		const path = join(place, 'controlled.recipe.json');
		const more = { rewards: [{ file: 'slow.reward.ts', name: 'slow' }], workers: 1 };
		await writeFile(path, JSON.stringify(pytorchRecipe('controlled', 20_000, more)));
		folder = await vscode.commands.executeCommand<string>(commandIds.startRun, vscode.Uri.file(path), { show: false });
		assert.ok(folder, JSON.stringify(notices));
		await untilRun(
			api,
			folder,
			'the run trains',
			(view) => view.status === 'running' && (view.record?.step ?? 0) >= 2,
			60,
		);
	});

	test('pauses: the step stops advancing and the row shows it', async function () {
		this.timeout(240_000);
		await vscode.commands.executeCommand(commandIds.pauseRun, folder);
		const paused = await untilRun(api, folder, 'paused', (view) => view.status === 'paused');
		await new Promise((resolve) => setTimeout(resolve, 1500));
		assert.equal(api.runStore.get(folder)?.record?.step, paused.record?.step);
		assert.match(String(api.runsTree.getTreeItem(folder).description), /^paused · /);
	});

	test('continues from where it paused', async function () {
		this.timeout(240_000);
		const step = api.runStore.get(folder)?.record?.step ?? 0;
		await vscode.commands.executeCommand(commandIds.continueRun, folder);
		await untilRun(
			api,
			folder,
			'the next step',
			(view) => view.status === 'running' && (view.record?.step ?? 0) > step,
			30,
		);
	});

	test('accepts new hyperparameters and saves a checkpoint on demand', async function () {
		this.timeout(240_000);
		const fromStep = await vscode.commands.executeCommand<number>(commandIds.setHyperparameters, folder, {
			learning_rate: 0.0005,
		});
		assert.ok(fromStep > 0);
		const checkpoint = await vscode.commands.executeCommand<string>(commandIds.saveCheckpoint, folder);
		assert.ok((await listCheckpoints(folder)).some(({ path }) => path === checkpoint));
	});

	test('stops with a checkpoint, records the stop in its events, and resumes in place', async function () {
		this.timeout(240_000);
		await vscode.commands.executeCommand(commandIds.stopRun, folder);
		const stopped = await untilRun(api, folder, 'stopped', (view) => view.status === 'stopped');
		const step = stopped.record?.step ?? 0;
		assert.equal((await listCheckpoints(folder)).at(-1)?.step, step);
		const result = await events(folder);
		for (const type of ['started', 'paused', 'continued', 'hyperparameters', 'checkpoint', 'stopped']) {
			assert.ok(result.includes(type), `${type} in ${result}`);
		}
		assert.equal(await vscode.commands.executeCommand(commandIds.resumeRun, folder, { show: false }), folder);
		await untilRun(
			api,
			folder,
			'the resumed run makes steps',
			(view) => view.record?.attempt === 2 && view.status === 'running' && (view.record.step ?? 0) > step,
			40,
		);
	});

	test('resumes from a checkpoint as a new run', async function () {
		this.timeout(240_000);
		await vscode.commands.executeCommand(commandIds.stopRun, folder);
		await untilRun(api, folder, 'stopped', (view) => view.status === 'stopped');
		const [first] = await listCheckpoints(folder);
		assert.ok(first);
		const child = await vscode.commands.executeCommand<string>(commandIds.resumeFromCheckpoint, folder, first.step, {
			show: false,
		});
		assert.ok(child && child !== folder, JSON.stringify(notices));
		const view = await untilRun(api, child, 'the new run trains', (run) => run.status === 'running', 40);
		assert.ok(view.record?.parent, 'the new run records its parent');
		await vscode.commands.executeCommand(commandIds.stopRun, child);
		await untilRun(api, child, 'stopped', (run) => run.status === 'stopped');
	});

	test('shows one notification with next steps each time a run ends', async () => {
		const ends = () => notices.filter((notice) => / stopped at step \d+ after /.test(notice.text));
		await until('the notification of the last end', () => ends().length >= 4).catch((error: Error) => {
			throw new Error(`${error.message}; notifications so far: ${JSON.stringify(notices)}`);
		});
		await new Promise((resolve) => setTimeout(resolve, 1500));
		assert.equal(ends().length, 4, JSON.stringify(notices));
		assert.deepEqual(ends()[0]?.actions, ['Open Dashboard', 'Open Log', "Don't Show Again"]);
		assert.deepEqual(
			notices.filter((notice) => notice.level === 'error'),
			[],
		);
	});
});
