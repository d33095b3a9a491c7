import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { runOfFile } from '../../../src/extension/runOfFile.ts';
import { root } from '../../scripts/paths.ts';

test('a file belongs to the nearest run of a trainer, or else to the outermost folder with event files', async (t) => {
	const folder = await mkdtemp(join(tmpdir(), 'rl-events-'));
	t.after(() => rm(folder, { recursive: true, force: true }));
	const name = 'events.out.tfevents.1763640000.host.1.0';
	const write = async (...parts: string[]) => {
		const path = join(folder, ...parts, name);
		await mkdir(dirname(path), { recursive: true });
		await writeFile(path, '');
		return path;
	};
	await cp(join(root, 'test/fixtures/trl-run'), join(folder, 'trl'), { recursive: true });
	const inRun = await write('trl/runs/Nov27_host');
	assert.equal(await runOfFile(inRun, folder), join(folder, 'trl'));
	assert.equal(await runOfFile(await write('other/train'), folder), join(folder, 'other'));
	// Folders above the root belong to other projects.
	assert.equal(await runOfFile(inRun, join(folder, 'trl/runs')), join(folder, 'trl/runs/Nov27_host'));
	assert.equal(await runOfFile(inRun, null), join(folder, 'trl/runs/Nov27_host'));
	assert.equal(await runOfFile(join(folder, 'trl/completions/completions_00005.parquet'), folder), join(folder, 'trl'));
	for (const [run, path] of [
		['wandb-offline', 'run-fixture1.wandb'],
		['slime', 'rollout_data/0.pt'],
		['inspect', 'add.eval'],
		['trackio', 'sums.db'],
		['mlflow', 'mlflow.db'],
		['art/legacy-yaml', 'trajectories/train/0007.yaml'],
	] as const) {
		await cp(join(root, 'test/fixtures', run), join(folder, run), { recursive: true });
		const found = await runOfFile(join(folder, run, path), folder);
		assert.ok(found === join(folder, run) || found === join(folder, run, 'rollout_data'), `${found}`);
	}
	const text = join(folder, 'empty/notes.txt');
	await mkdir(dirname(text));
	await writeFile(text, '');
	assert.equal(await runOfFile(text, folder), null);
});
