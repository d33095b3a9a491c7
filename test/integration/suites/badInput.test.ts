import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as vscode from 'vscode';
import { commandIds } from '../../../src/extension/ids.ts';
import { isLive } from '../../../src/extension/runView.ts';
import type { ExtensionApi } from '../../../src/extension.ts';
import { listCheckpoints } from '../../../src/runs/runReader.ts';
import { activated, notices, until, untilRun, workspaceFolder } from '../support/laboratory.ts';

const recipe = {
	name: 'bad-input',
	dataset: { path: 'train.jsonl' },
	model: { layers: 1, width: 16, heads: 2 },
	stages: [{ type: 'sft', steps: 100_000, learning_rate: 0.001, batch_size: 4 }],
	checkpoint: { every: 5 },
};
const row = (i: number) => JSON.stringify({ prompt: `${i}+1`, answer: String(i + 1), solution: `${i}+1=${i + 1}` });
const rows = Array.from({ length: 40 }, (_, i) => row(i));

suite('invalid input', () => {
	let api: ExtensionApi;

	suiteSetup(async () => {
		api = await activated();
	});

	suiteTeardown(async () => {
		for (const view of api.runStore.runs.filter(isLive)) {
			await vscode.commands.executeCommand(commandIds.stopRun, view.folder);
		}
	});

	async function start(name: string, dataset: string): Promise<string | undefined> {
		const folder = join(workspaceFolder(), 'bad', name);
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, 'train.jsonl'), dataset);
		const path = join(folder, 'bad.recipe.json');
		await writeFile(path, JSON.stringify(recipe));
		return vscode.commands.executeCommand(commandIds.startRun, vscode.Uri.file(path), { show: false });
	}

	/** Returns the only error that an action shows. */
	async function errorOf<T>(action: () => Promise<T>): Promise<string> {
		const before = notices.length;
		await action();
		const found = () => notices.slice(before).filter((notice) => notice.level === 'error');
		await until('an error', () => found().length > 0);
		// The run list is notified of an exit later than the code that started the run.
		await new Promise((resolve) => setTimeout(resolve, 1000));
		const errors = found();
		assert.equal(errors.length, 1, JSON.stringify(errors));
		assert.ok((errors[0]?.actions.length ?? 0) > 0, JSON.stringify(errors));
		return errors[0]?.text ?? '';
	}

	test('an empty dataset is rejected with one message', async function () {
		this.timeout(240_000);
		assert.match(await errorOf(() => start('empty', '\n')), /train\.jsonl/);
	});

	test('an error in a dataset line that is not JSON includes its line number', async function () {
		this.timeout(240_000);
		const text = await errorOf(() => start('torn', [rows[0], rows[1], '{"prompt": ', rows[2]].join('\n')));
		assert.match(text, /train\.jsonl/);
		assert.match(text, /line 3/);
	});

	test('a killed engine is reported once with its last output, and its run resumes from the newest checkpoint', async function () {
		this.timeout(240_000);
		const folder = await start('killed', rows.join('\n'));
		assert.ok(folder, JSON.stringify(notices));
		await until('a checkpoint', () => (api.runStore.get(folder)?.record?.step ?? 0) > 12, 60);
		const { pid } = JSON.parse(await readFile(join(folder, 'run.json'), 'utf8'));
		const text = await errorOf(async () => {
			process.kill(pid, 'SIGKILL');
			await untilRun(api, folder, 'crashed', (view) => view.status === 'crashed');
		});
		assert.match(text, /^bad-input crashed at step \d+: the engine exited without an error message/);
		const newest = (await listCheckpoints(folder)).at(-1)?.step ?? 0;
		assert.ok(newest >= 5, `newest checkpoint ${newest}`);
		await vscode.commands.executeCommand(commandIds.resumeRun, folder, { show: false });
		const view = await untilRun(
			api,
			folder,
			'the resumed run makes steps',
			(run) => run.record?.attempt === 2 && run.status === 'running' && (run.record.step ?? 0) > newest,
			60,
		);
		// A live run cannot be modified by anything else.
		assert.match(
			await errorOf(async () => vscode.commands.executeCommand(commandIds.moveToTrash, view.folder)),
			/has not ended/,
		);
		await vscode.commands.executeCommand(commandIds.stopRun, folder);
		await untilRun(api, folder, 'stopped', (run) => run.status === 'stopped');
	});
});
