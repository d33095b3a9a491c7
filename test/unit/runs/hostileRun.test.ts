import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, readdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { FileLock } from '../../../src/files/fileLock.ts';
import { launchEngine } from '../../../src/runs/launchEngine.ts';
import { annotateRun } from '../../../src/runs/runActions.ts';
import {
	diskUse,
	listCheckpoints,
	listRolloutSteps,
	readAnnotation,
	readEvaluations,
	readEvents,
	readLogEnd,
	readMetrics,
	readRecord,
	readResolvedRecipe,
	readRollouts,
} from '../../../src/runs/runReader.ts';
import { effectiveStatus } from '../../../src/runs/runStatus.ts';
import { RunTail } from '../../../src/runs/runTail.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, rollout, temporaryFolder } from './runFixtures.ts';

const record = {
	format: 1,
	...initialRecord,
	status: 'finished',
	attempt: 1,
	step: 0,
	created: 1,
	updated: 1,
	heartbeat: 1,
	host: 'h',
	boot: 'b',
	pid: 1,
	processStart: '1',
};

async function runFolder(context: TestContext, change: object = {}): Promise<string> {
	const folder = join(await temporaryFolder(context), 'run');
	await mkdir(folder);
	await writeFile(join(folder, 'run.json'), JSON.stringify({ ...record, ...change }));
	return folder;
}

/** Creates a folder outside the run that contains a secret under each file name. */
async function outside(context: TestContext, ...names: string[]): Promise<string> {
	const folder = await temporaryFolder(context);
	for (const name of names) {
		await mkdir(join(folder, name, '..'), { recursive: true });
		await writeFile(join(folder, name), `${JSON.stringify({ ...rollout(1, 0), time: 1, type: 'secret' })}\n`);
	}
	return folder;
}

test('links are not followed, wherever they are', async (context) => {
	const secret = await outside(context, 'run.json', 'metrics.jsonl', 'step_000001.jsonl', 'heldout.json', 'engine.log');
	const folder = await runFolder(context);
	for (const name of ['metrics.jsonl', 'events.jsonl'])
		await symlink(join(secret, 'metrics.jsonl'), join(folder, name));
	await symlink(join(secret, 'engine.log'), join(folder, 'engine.log'));
	await symlink(secret, join(folder, 'rollouts'));
	await mkdir(join(folder, 'evaluations'));
	await symlink(secret, join(folder, 'evaluations', 'step_000001'));
	await symlink(secret, join(folder, 'checkpoints'));
	await assert.rejects(readMetrics(folder), { reason: 'invalid', message: /not a regular file/ });
	await assert.rejects(readEvents(folder), { reason: 'invalid' });
	assert.deepEqual(await listRolloutSteps(folder), []);
	await assert.rejects(readRollouts(folder, 1), { reason: 'invalid' });
	assert.deepEqual(await readEvaluations(folder), []);
	assert.deepEqual(await listCheckpoints(folder), []);
	assert.equal(await readLogEnd(folder), '');
	const use = await diskUse(folder);
	assert.equal(use.parts.rollouts, 0);
	assert.equal(use.total, use.parts['run.json']);
	const linked = await runFolder(context);
	await symlink(secret, join(linked, 'annotations'));
	await assert.rejects(annotateRun(linked, { name: 'x' }), { reason: 'invalid' });
});

test('an engine does not write through links in a run folder', async (context) => {
	for (const name of ['metrics.jsonl', 'events.jsonl', 'engine.log', '.reserve', 'checkpoints', 'run.lock']) {
		const secret = await outside(context, 'metrics.jsonl', '000001');
		const before = await readdir(secret, { recursive: true });
		const folder = await runFolder(context);
		const isFolder = name === 'checkpoints' || name === 'run.lock';
		await symlink(isFolder ? secret : join(secret, 'metrics.jsonl'), join(folder, name));
		const refused = { reason: 'invalid', message: /neither a file nor a folder/ };
		await assert.rejects(RunWriter.reopen(folder), refused, name);
		await assert.rejects(launchEngine(folder, { engine: import.meta.filename, resume: true }), refused, name);
		assert.deepEqual(await readdir(secret, { recursive: true }), before, name);
		if (name === 'run.lock')
			await assert.rejects(FileLock.acquire(join(folder, name), 'The run'), { reason: 'invalid' });
	}
});

test('a tail on a folder full of links reports the reason once and reads nothing', async (context) => {
	const secret = await outside(context, 'metrics.jsonl');
	const folder = await runFolder(context);
	await symlink(join(secret, 'metrics.jsonl'), join(folder, 'metrics.jsonl'));
	const kinds: string[] = [];
	const tail = new RunTail(folder);
	context.after(() => tail.dispose());
	tail.onEvent(({ kind }) => kinds.push(kind));
	await tail.refresh();
	await tail.refresh();
	assert.deepEqual(kinds, ['record', 'error']);
});

test('pipes and folders in place of files do not block a reader', {
	skip: process.platform === 'win32',
}, async (context) => {
	const folder = await runFolder(context);
	execFileSync('mkfifo', [join(folder, 'metrics.jsonl')]);
	await mkdir(join(folder, 'events.jsonl'));
	await assert.rejects(readMetrics(folder), { reason: 'invalid' });
	await assert.rejects(readEvents(folder), { reason: 'invalid' });
});

test('a huge file is rejected by its size before it is read', async (context) => {
	const folder = await runFolder(context);
	for (const name of ['run.json', 'recipe.json']) {
		await writeFile(join(folder, name), '{}');
		// Sparse, so it takes no disk space.
		await truncate(join(folder, name), 40 * 2 ** 30);
	}
	await assert.rejects(readRecord(folder), { reason: 'invalid', message: /is 42949672960 bytes/ });
	await assert.rejects(readResolvedRecipe(folder), { reason: 'invalid' });
});

test('a newer format is reported, an unknown field is kept, and wrong types are rejected', async (context) => {
	await assert.rejects(readRecord(await runFolder(context, { format: 2 })), {
		reason: 'version',
		message: /has format 2, but this version only reads formats up to 1/,
	});
	assert.equal((await readRecord(await runFolder(context, { extra: 7 }))).extra, 7);
	for (const change of [
		{ step: '5' },
		{ status: 'exploding' },
		{ pid: null },
		{ seeds: { a: 'b' } },
		{ error: 'no' },
	]) {
		await assert.rejects(readRecord(await runFolder(context, change)), { reason: 'invalid' }, JSON.stringify(change));
	}
	const folder = await runFolder(context);
	await writeFile(join(folder, 'run.json'), '{"format": 1,');
	await assert.rejects(readRecord(folder), { reason: 'corrupt', message: /is not valid JSON/ });
	await mkdir(join(folder, 'annotations'));
	await writeFile(join(folder, 'annotations', 'person.json'), '{"format": 9}');
	await assert.rejects(readAnnotation(folder), { reason: 'version' });
});

test('malformed lines are skipped and the others are read', async (context) => {
	const folder = await runFolder(context);
	const lines = [
		'{"step":1,"time":1,"stage":"s","reward":0.5,"text":"no number","nested":{}}',
		'null',
		'[]',
		'{"step":"2","time":1,"stage":"s"}',
		'{"step":3,"time":1,"stage":"s","__proto__":{"x":1},"kl":null}',
		'{"step":4,"time":1,"stage":"s","kl":NaN}',
		'\ufeff{}',
	];
	await writeFile(join(folder, 'metrics.jsonl'), lines.join('\n'));
	const metrics = await readMetrics(folder);
	assert.deepEqual(
		metrics.map(({ step, values }) => [step, values]),
		[
			[1, { reward: 0.5 }],
			[3, { kl: null }],
		],
	);
	assert.equal(({} as Record<string, unknown>).x, undefined);
});

test('a pid from the folder is never trusted without comparing the process start time', async (context) => {
	const { ownIdentity } = await import('../../../src/processes/processIdentity.ts');
	const own = await ownIdentity();
	const live = { ...record, ...own, status: 'running' as const };
	assert.equal(await effectiveStatus(await readRecord(await runFolder(context, live))), 'running');
	for (const change of [
		{ processStart: '12345' },
		{ pid: 2 ** 40 },
		{ pid: -1 },
		{ pid: 0 },
		{ pid: 1.5 },
		{ boot: 'other/1' },
	]) {
		const folder = await runFolder(context, { ...live, ...change });
		assert.equal(await effectiveStatus(await readRecord(folder)), 'crashed', JSON.stringify(change));
	}
	const now = 1_000_000;
	const remote = { ...live, host: 'elsewhere.example', heartbeat: now - 10 };
	assert.equal(await effectiveStatus(remote, now), 'running');
	assert.equal(await effectiveStatus(remote, now + 60), 'crashed');
	// Another pid namespace under the same boot id: only the heartbeat counts.
	const container = { ...live, boot: `${own.boot.split('/')[0]}/1`, heartbeat: now - 10 };
	assert.equal(await effectiveStatus(container, now), 'running');
	assert.equal(await effectiveStatus({ ...live, status: 'finished' }, now), 'finished');
});

test('a checkpoint whose file list points elsewhere is ignored', async (context) => {
	const secret = await outside(context, 'model.safetensors');
	const folder = await runFolder(context);
	const manifest = (name: string, bytes: number) =>
		JSON.stringify({ format: 1, step: 1, stage: null, score: null, time: 1, files: [{ name, bytes }] });
	const checkpoint = join(folder, 'checkpoints', 'step_000001');
	await mkdir(checkpoint, { recursive: true });
	for (const name of ['../../run.json', '/etc/passwd', '..', '.hidden', 'a/b']) {
		await writeFile(join(checkpoint, 'checkpoint.json'), manifest(name, 1));
		assert.deepEqual(await listCheckpoints(folder), [], name);
	}
	await symlink(join(secret, 'model.safetensors'), join(checkpoint, 'model.safetensors'));
	await writeFile(join(checkpoint, 'checkpoint.json'), manifest('model.safetensors', 1));
	assert.deepEqual(await listCheckpoints(folder), []);
});
