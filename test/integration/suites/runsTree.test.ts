import assert from 'node:assert/strict';
import { cp, mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds, panelTypes, viewTypes } from '../../../src/extension/ids.ts';
import { otherFoldersRow } from '../../../src/extension/runsTree.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { activated, until, untilListed, untilRun, workspaceFolder, writeRun } from '../support/laboratory.ts';

suite('runs tree', () => {
	let api: ExtensionApi;
	let runs: string;

	suiteSetup(async () => {
		api = await activated();
		runs = join(await realpath(workspaceFolder()), 'tree', 'runs');
	});

	function row(folder: string): vscode.TreeItem {
		assert.ok(api.runsTree.getChildren().includes(folder), `${folder} is not in the tree`);
		return api.runsTree.getTreeItem(folder);
	}

	test('lists workspace runs as they appear, with state, step and reward', async () => {
		const finished = join(runs, 'finished');
		const crashed = join(runs, 'crashed');
		await writeRun(finished, { name: 'listed', created: Date.now() / 1000 - 80 });
		// The record says it is running, but its engine has not sent a heartbeat for a long time.
		await writeRun(crashed, { status: 'running', name: 'lost', heartbeat: Date.now() / 1000 - 600 });
		await untilRun(api, finished, 'the finished run is listed', () => true);
		await untilRun(api, crashed, 'the crashed run is listed', () => true);
		assert.equal(row(finished).label, 'listed');
		assert.equal(row(finished).description, 'finished · 3/3 · reward 0.75 · 1 min 10 s');
		assert.equal(row(finished).contextValue, 'run ended');
		assert.match(String(row(crashed).description), /^crashed · 3\/3 · reward 0.75/);
		assert.equal(row(crashed).contextValue, 'run ended resumable');
		assert.match(row(crashed).accessibilityInformation?.label ?? '', /^lost, crashed, step 3 of 3/);
	});

	test('event files and rollout files open the dashboard of the run that they belong to', async () => {
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		const folder = join(runs, '../events');
		await cp(join(extensionPath, 'test/fixtures/trl-run'), folder, { recursive: true });
		const file = join(folder, 'runs/host/events.out.tfevents.1763640000.host.1.0');
		await mkdir(dirname(file), { recursive: true });
		await writeFile(file, '');
		// A click in the Explorer does the same.
		await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(file));
		const inputs = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
		const isDashboard = (input: unknown) =>
			input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.dashboard);
		await until('only the dashboard is open', () => {
			return inputs().some(isDashboard) && !inputs().some((input) => input instanceof vscode.TabInputCustom);
		});
		assert.ok(api.runStore.runs.some((view) => view.folder === folder && view.record?.foreign?.title === 'TRL'));
		const slime = join(runs, '../slime');
		await cp(join(extensionPath, 'test/fixtures/slime'), slime, { recursive: true });
		await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(join(slime, 'rollout_data/0.pt')));
		await until('the run of the file is open', () =>
			api.runStore.runs.some(
				({ folder: run, record }) => run.startsWith(slime) && record?.foreign?.title.startsWith('slime'),
			),
		);
		const opens = (path: string, title: string) =>
			until(`${path} opens its run`, () =>
				api.runStore.runs.some(
					({ folder: run, record }) => join(runs, '..', path).startsWith(run) && record?.foreign?.title === title,
				),
			);
		for (const [fixture, file, title] of [
			['inspect', 'add.eval', 'Inspect'],
			['mlflow', 'mlflow.db', 'MLflow'],
			['trackio', 'sums.db', 'trackio'],
		] as const) {
			await cp(join(extensionPath, 'test/fixtures', fixture), join(runs, '..', fixture), { recursive: true });
			const path = `${fixture}/${file}`;
			await vscode.commands.executeCommand('vscode.open', vscode.Uri.file(join(runs, '..', path)));
			await opens(path, title);
		}
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test("a trainer's Parquet file opens its run or as a dataset, and its text file can be opened as a run", async () => {
		const { extensionPath } = vscode.extensions.getExtension('reasoning-lab.reasoning-lab') as {
			extensionPath: string;
		};
		const folder = join(runs, '../completions-run');
		await cp(join(extensionPath, 'test/fixtures/trl-run'), folder, { recursive: true });
		const parquet = vscode.Uri.file(join(folder, 'completions/completions_00005.parquet'));
		const open = () => vscode.window.tabGroups.all.flatMap(({ tabs }) => tabs.map(({ input }) => input));
		const isDashboard = () =>
			open().some((input) => input instanceof vscode.TabInputWebview && input.viewType.endsWith(panelTypes.dashboard));
		const datasets = () => open().filter((input) => input instanceof vscode.TabInputCustom);
		await vscode.commands.executeCommand('vscode.open', parquet);
		await until('only the dashboard is open', () => isDashboard() && datasets().length === 0);
		assert.ok(api.runStore.get(folder)?.record?.foreign?.title === 'TRL');
		await vscode.commands.executeCommand('vscode.openWith', parquet, viewTypes.parquet);
		await until('the dataset is open', () => datasets().some(({ viewType }) => viewType === viewTypes.parquet));
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		// A file in a folder with such a name is a dataset if it does not belong to a run.
		const stray = vscode.Uri.file(join(runs, '../stray/trajectories/train/notes.parquet'));
		await vscode.workspace.fs.copy(parquet, stray);
		await vscode.commands.executeCommand('vscode.open', stray);
		await until(
			'the dataset with the file’s rows is open',
			() => datasets().length === 1 && datasets()[0]?.viewType === viewTypes.parquet,
		);
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
		// Passes the same arguments as the action in a text editor's title bar.
		const text = join(runs, '../verl');
		await cp(join(extensionPath, 'test/fixtures/verl'), text, { recursive: true });
		const file = (await readdir(text, { recursive: true })).find((path) => /(^|\/)\d+\.jsonl$/.test(path)) as string;
		await vscode.commands.executeCommand(commandIds.openAsRun, vscode.Uri.file(join(text, file)), {});
		await until('its dashboard is open', isDashboard);
		assert.ok(api.runStore.runs.some((view) => view.folder.startsWith(text) && view.record?.foreign?.title === 'verl'));
		await vscode.commands.executeCommand('workbench.action.closeAllEditors');
	});

	test('shows a damaged run and continues', async () => {
		const folder = join(runs, 'damaged');
		await writeRun(folder);
		await untilListed(api, folder);
		await vscode.workspace.fs.writeFile(vscode.Uri.file(join(folder, 'run.json')), Buffer.from('{"format": 1, '));
		await vscode.commands.executeCommand(commandIds.refreshRuns);
		await untilRun(api, folder, 'the run is shown as unreadable', (view) => view.status === 'unreadable');
		assert.equal(row(folder).description, 'unreadable');
		assert.match(api.runStore.get(folder)?.fault ?? '', /run\.json/);
	});

	test('names, tags and notes set by the user stay with the run', async () => {
		const folder = join(runs, 'finished');
		await vscode.commands.executeCommand(commandIds.renameRun, folder, 'baseline');
		await vscode.commands.executeCommand(commandIds.editTags, folder, 'seed 1, good ,,seed 1');
		await vscode.commands.executeCommand(commandIds.editNote, folder, 'before the new reward');
		const view = await untilRun(api, folder, 'the note', (run) => run.annotation?.note !== undefined);
		assert.equal(row(folder).label, 'baseline');
		assert.deepEqual(view.annotation?.tags, ['seed 1', 'good']);
		const text = Buffer.from(
			await vscode.workspace.fs.readFile(vscode.Uri.file(join(folder, 'annotations', 'person.json'))),
		).toString();
		assert.equal(JSON.parse(text).note, 'before the new reward');
		await vscode.commands.executeCommand(commandIds.renameRun, folder, '');
		await until('the old name', () => row(folder).label === 'listed');
	});

	test('a run moved to the trash disappears from the list and is kept next to the others', async () => {
		const folder = join(runs, 'unwanted');
		await writeRun(folder);
		await untilListed(api, folder);
		await vscode.commands.executeCommand(commandIds.moveToTrash, folder);
		await until('the run is no longer listed', () => api.runStore.get(folder) === undefined);
		await vscode.workspace.fs.stat(vscode.Uri.file(join(runs, '.trash', 'unwanted', 'run.json')));
	});

	test('run folders in other locations can be added', async () => {
		const outside = join(await realpath(workspaceFolder()), '..', 'elsewhere', 'one');
		await writeRun(outside, { id: 'outside', name: 'outside' });
		await vscode.commands.executeCommand(commandIds.addRunFolder, outside);
		await untilRun(api, outside, 'the added run is listed', () => true);
		assert.ok(api.runsTree.getChildren().includes(outside), 'a run that was opened here belongs to the workspace');
	});

	test('runs started for another folder are listed in a group, and are not offered', async () => {
		const other = join(await realpath(workspaceFolder()), '..', 'another project', 'runs', 'theirs');
		await writeRun(other, { id: 'theirs', name: 'theirs' });
		await new RunRegistry().add(other);
		await vscode.commands.executeCommand(commandIds.refreshRuns);
		await untilRun(api, other, 'the other folder’s run is loaded', () => true);
		assert.ok(!api.runsTree.getChildren().includes(other));
		assert.deepEqual(api.runsTree.getChildren(otherFoldersRow), [other]);
		assert.ok(!api.runStore.own.some(({ folder }) => folder === other));
		await vscode.commands.executeCommand(commandIds.openAsRun, vscode.Uri.file(other));
		await until('the run belongs to the workspace', () => api.runsTree.getChildren().includes(other));
		await until('its dashboard is open', () =>
			vscode.window.tabGroups.all.some(({ tabs }) => tabs.some(({ label }) => label === 'theirs')),
		);
	});
});
