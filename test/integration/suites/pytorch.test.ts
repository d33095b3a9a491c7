import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { devNull } from 'node:os';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../../../src/extension/ids.ts';
import type { DoctorReport } from '../../../src/protocol/torchEnvironment.ts';
import { tinyTorch, tinyTrl, writeWheel } from '../../support/wheels.ts';
import { activated, notices, until, workspaceFolder } from '../support/laboratory.ts';

const recipe = {
	...{ name: 'tiny', engine: 'pytorch', dataset: { task: 'addition', digits: 1 } },
	...{ model: { layers: 1, width: 16, heads: 2 }, stages: [{ type: 'sft', steps: 1, learning_rate: 0.001 }] },
};

suite('PyTorch engine environment in the editor', () => {
	let folder: string;
	/** pip settings on this machine. */
	const ofPip = Object.entries(process.env).filter(([name]) => name.startsWith('PIP_'));
	const set = (name: string, value: unknown) =>
		vscode.workspace
			.getConfiguration()
			.update(`reasoningLab.pytorch.${name}`, value, vscode.ConfigurationTarget.Workspace);

	suiteSetup(async () => {
		await activated();
		folder = join(workspaceFolder(), 'pytorch');
		await mkdir(join(folder, 'wheels'), { recursive: true });
		await set('folder', join(folder, 'managed'));
		// Restrict pip to this suite's wheels, whatever indexes this machine is configured to use.
		for (const [name] of ofPip) delete process.env[name];
		process.env.PIP_CONFIG_FILE = devNull;
	});
	suiteTeardown(async () => {
		delete process.env.PIP_CONFIG_FILE;
		Object.assign(process.env, Object.fromEntries(ofPip));
		for (const name of ['folder', 'installer', 'pipArguments', 'device']) await set(name, undefined);
	});

	test('a run without an environment does not start, and setup is offered', async () => {
		const path = join(folder, 'tiny.recipe.json');
		await writeFile(path, JSON.stringify(recipe));
		notices.length = 0;
		const started = await vscode.commands.executeCommand(commandIds.startRun, vscode.Uri.file(path), { show: false });
		assert.equal(started, undefined);
		const notice = await until('a notification', () => notices.find(({ level }) => level === 'error'));
		assert.match(notice.text, /^No PyTorch environment is set up\. This run requires one\.$/);
		assert.deepEqual(notice.actions, ['Set Up', 'Choose Interpreter']);
		assert.equal(existsSync(join(folder, 'runs')), false);
	});

	test('Doctor opens a report that recommends a fix', async () => {
		notices.length = 0;
		const report = await vscode.commands.executeCommand<DoctorReport>(commandIds.doctor, { quick: true });
		assert.equal(report.rows.find(({ id }) => id === 'python')?.status, 'error');
		const tab = await until('the rendered report', () => {
			const active = vscode.window.tabGroups.activeTabGroup.activeTab;
			return active?.input instanceof vscode.TabInputWebview && /Doctor/.test(active.label) ? active : undefined;
		});
		assert.match(tab.label, /PyTorch Doctor\.md$/);
		const notice = await until('a notification', () => notices[0]);
		assert.deepEqual(notice.actions, ['Set Up', 'Choose Interpreter']);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
	});

	test('CUDA for the embedded engine is not downloaded on a machine without an NVIDIA GPU', async function () {
		if (process.platform !== 'linux' || existsSync('/proc/driver/nvidia/version')) this.skip();
		notices.length = 0;
		await vscode.commands.executeCommand(commandIds.setUpGpu);
		const notice = await until('a notification', () => notices.find(({ level }) => level === 'error'));
		assert.match(notice.text, /^No NVIDIA GPU was found on this machine\. /);
	});

	test('an environment is set up with pip, checked, and removed', async function () {
		this.timeout(300_000);
		const able = ['python3', 'python'].some((name) => spawnSync(name, ['-m', 'ensurepip', '--version']).status === 0);
		if (!able) this.skip();
		const wheels = join(folder, 'wheels');
		await writeWheel(wheels, 'torch', '2.13.0', { 'torch/__init__.py': tinyTorch });
		await writeWheel(wheels, 'trl', '1.13.0', { 'trl/__init__.py': tinyTrl });
		await writeFile(join(folder, 'base.txt'), 'torch==2.13.0\ntrl==1.13.0\n');
		await set('installer', 'pip');
		await set('device', 'cpu');
		await set('pipArguments', ['--no-index', '--find-links', wheels]);
		const answers = { confirmed: true, requirements: folder, extras: [] };
		notices.length = 0;
		const python = await vscode.commands.executeCommand<string>(commandIds.setUpPytorch, answers);
		assert.ok(existsSync(python), notices.map(({ text }) => text).join('\n'));
		await until('a notification', () =>
			notices.some(({ text }) => /PyTorch engine set up \(torch 2\.13\.0\+cpu\)/.test(text)),
		);
		const report = await vscode.commands.executeCommand<DoctorReport>(commandIds.doctor, { quick: true });
		assert.deepEqual([report.python, report.source], [python, 'managed']);
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
		await vscode.commands.executeCommand(commandIds.openSetupLog);
		await until('the log', () => /Ready after/.test(vscode.window.activeTextEditor?.document.getText() ?? ''));
		await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
		await vscode.commands.executeCommand(commandIds.removePytorch, true);
		assert.deepEqual(await readdir(join(folder, 'managed', 'environments')), []);
	});
});
