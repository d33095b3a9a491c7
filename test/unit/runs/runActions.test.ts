import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { RunStatus } from '../../../src/protocol/runRecord.ts';
import {
	noteRun,
	pruneCheckpoints,
	pruneTokenLogs,
	renameRun,
	restoreRun,
	tagRun,
	trashRun,
} from '../../../src/runs/runActions.ts';
import { findRuns } from '../../../src/runs/runFolders.ts';
import { diskUse, listCheckpoints, readAnnotation, readRecord, readRollouts } from '../../../src/runs/runReader.ts';
import { RunRegistry } from '../../../src/runs/runRegistry.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, metricsLine, rollout, startHelper, temporaryFolder } from './runFixtures.ts';

async function endedRun(context: TestContext): Promise<string> {
	const folder = join(await temporaryFolder(context), 'runs', 'one');
	await mkdir(folder, { recursive: true });
	const writer = await RunWriter.create(folder, initialRecord);
	for (const step of [1, 2, 3]) {
		await writer.writeRollouts(step, [rollout(step, 0), { ...rollout(step, 1), extra: { kept: true } }]);
		await writer.appendMetrics(metricsLine(step));
		await writeFile(join(await writer.beginCheckpoint(step), 'model.safetensors'), 'w'.repeat(step * 100));
		await writer.commitCheckpoint(step, { score: step === 1 ? 0.9 : 0.1 });
	}
	await writer.updateRecord({ status: 'finished', step: 3 });
	await writer.close();
	return folder;
}

test('name, tags and note are stored separately from the engine output', async (context) => {
	const run = await endedRun(context);
	const before = await readFile(join(run, 'run.json'), 'utf8');
	await renameRun(run, '  better name ');
	await tagRun(run, ['good', ' good', '', 'baseline']);
	await noteRun(run, 'a note');
	assert.deepEqual(await readAnnotation(run), {
		format: 1,
		name: 'better name',
		tags: ['good', 'baseline'],
		note: 'a note',
	});
	await noteRun(run, '');
	await tagRun(run, []);
	assert.deepEqual(await readAnnotation(run), { format: 1, name: 'better name' });
	assert.equal(await readFile(join(run, 'run.json'), 'utf8'), before);
});

test('a run can be trashed and restored', async (context) => {
	const run = await endedRun(context);
	const trashed = await trashRun(run);
	assert.equal(dirname(trashed), join(dirname(run), '.trash'));
	assert.deepEqual(await findRuns([dirname(dirname(run))]), []);
	await mkdir(run);
	await assert.rejects(restoreRun(trashed), { reason: 'exists' });
	await writeFile(join(run, 'run.json'), '{}');
	const second = await trashRun(run);
	assert.equal(basename(second), 'one-2');
	assert.equal(await restoreRun(trashed), run);
	assert.equal((await readRecord(run)).step, 3);
});

test('actions on an ended run wait while its writer removes the lock', async (context) => {
	const begin = async (status: RunStatus) => {
		const folder = join(await temporaryFolder(context), 'runs', status);
		await mkdir(folder, { recursive: true });
		const writer = await RunWriter.create(folder, initialRecord);
		await writer.updateRecord({ status });
		return { folder, writer };
	};
	const live = await begin('running');
	await assert.rejects(pruneTokenLogs(live.folder), { reason: 'busy' });
	await live.writer.close();
	const over = await begin('finished');
	const pruned = pruneTokenLogs(over.folder);
	const first = await Promise.race([pruned, new Promise((resolve) => setTimeout(resolve, 300, 'waits'))]);
	assert.equal(first, 'waits');
	await over.writer.close();
	assert.equal(await pruned, 0);
});

test('running runs are left alone', async (context) => {
	const folder = join(await temporaryFolder(context), 'runs', 'live');
	await mkdir(folder, { recursive: true });
	const writer = startHelper(context, 'steadyWriter.ts', folder);
	assert.equal(await writer.line(), 'writing');
	for (const action of [trashRun, (run: string) => pruneCheckpoints(run, 1), pruneTokenLogs]) {
		await assert.rejects(action(folder), { reason: 'busy', message: new RegExp(`process ${writer.process.pid}`) });
	}
	assert.ok((await stat(folder)).isDirectory());
});

test('pruning keeps the latest and best checkpoints, and rollouts without their tokens', async (context) => {
	const run = await endedRun(context);
	const before = await diskUse(run);
	assert.equal(before.parts.checkpoints, (await sizes(join(run, 'checkpoints'))) as number);
	assert.equal(await pruneCheckpoints(run, 1), 200);
	assert.deepEqual(
		(await listCheckpoints(run)).map(({ step }) => step),
		[1, 3],
	);
	const freed = await pruneTokenLogs(run);
	assert.ok(freed > 0);
	const { tokens: _, ...bare } = rollout(2, 0);
	assert.deepEqual(await readRollouts(run, 2), [
		{ ...bare, extra: { length: 2 } },
		{ ...bare, index: 1, completion: rollout(2, 1).completion, extra: { kept: true, length: 2 } },
	]);
	assert.equal((await diskUse(run)).parts.rollouts, (before.parts.rollouts ?? 0) - freed);
	assert.equal(await pruneTokenLogs(run), 0);
});

test('pruning tokens skips files with unreadable lines', async (context) => {
	const run = await endedRun(context);
	const path = join(run, 'rollouts', 'step_000002.jsonl');
	await appendFile(path, '{"not": "a rollout"}\n');
	const before = await readFile(path, 'utf8');
	await pruneTokenLogs(run);
	assert.equal(await readFile(path, 'utf8'), before);
	assert.equal((await readRollouts(run, 1))[0]?.tokens, undefined);
});

async function sizes(folder: string): Promise<number> {
	let sum = 0;
	for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
		if (entry.isFile()) sum += (await stat(join(entry.parentPath, entry.name))).size;
	}
	return sum;
}

test('runs are found below folders, except in excluded ones', async (context) => {
	const root = await temporaryFolder(context);
	const make = async (...parts: string[]) => {
		const folder = join(root, ...parts);
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, 'run.json'), '{}');
		return folder;
	};
	const expected = [await make('runs', 'a'), await make('sub', 'deep', 'runs', 'b')];
	await make('node_modules', 'x', 'runs', 'c');
	await make('.git', 'runs', 'd');
	await make('runs', '.trash', 'e');
	await make('1', '2', '3', '4', '5', '6', '7', 'runs', 'f');
	await mkdir(join(root, 'runs', 'empty'));
	assert.deepEqual((await findRuns([root])).sort(), expected.sort());
});

test('several processes register runs concurrently without losing any', async (context) => {
	const home = await temporaryFolder(context);
	const root = await temporaryFolder(context);
	const folders = Array.from({ length: 12 }, (_, i) => join(root, `run ${i}`));
	for (const folder of folders) {
		await mkdir(folder);
		await writeFile(join(folder, 'run.json'), '{}');
	}
	const helpers = [0, 1, 2].map((part) =>
		startHelper(context, 'registrar.ts', home, ...folders.filter((_, i) => i % 3 === part)),
	);
	for (const helper of helpers) assert.equal(await helper.ended, 0);
	const registry = new RunRegistry(home);
	assert.deepEqual((await registry.list()).sort(), folders.sort());
	await registry.add(folders[0] as string);
	await registry.remove(folders[1] as string);
	assert.equal((await registry.list()).length, 11);
	await writeFile(join(home, 'runs', 'broken.json'), '{');
	await writeFile(join(home, 'runs', 'gone.json'), JSON.stringify({ format: 1, path: '/nowhere', added: 1 }));
	assert.equal((await registry.list()).length, 11);
});
