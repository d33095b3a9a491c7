import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppendFile } from '../../../src/files/appendFile.ts';
import {
	listCheckpoints,
	listRolloutSteps,
	readEvaluationLines,
	readEvaluations,
	readEvents,
	readMetrics,
	readMetricsEnd,
	readRecord,
	readRollouts,
} from '../../../src/runs/runReader.ts';
import { effectiveStatus } from '../../../src/runs/runStatus.ts';
import { RunWriter } from '../../../src/runs/runWriter.ts';
import { initialRecord, metricsLine, rollout, startHelper, temporaryFolder } from './runFixtures.ts';

async function checkpoint(writer: RunWriter, step: number, content: string, score: number | null = null) {
	const folder = await writer.beginCheckpoint(step);
	await writeFile(join(folder, 'model.safetensors'), content);
	return await writer.commitCheckpoint(step, { score });
}

const summary = (step: number) => ({
	name: 'heldout',
	step,
	problems: 2,
	samples: 1,
	temperature: 1,
	accuracy: 0.5,
	low: 0.1,
	high: 0.9,
});

test('written data can be read back', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	assert.equal((await readRecord(folder)).status, 'starting');
	await writer.updateRecord({ status: 'running' });
	await writer.writeRollouts(1, [rollout(1, 0), rollout(1, 1)]);
	await writer.appendMetrics(metricsLine(1, { kl: Number.NaN, loss: Number.POSITIVE_INFINITY, entropy: null }));
	await writer.appendEvent({ type: 'stage', name: 'grpo', index: 1 });
	const line = { problem: 0, sample: 0, prompt: 'p', completion: 'c', correct: true, truncated: false };
	await writer.writeEvaluation(1, 'heldout', [line], summary(1));
	assert.deepEqual(await readMetrics(folder), [metricsLine(1, { kl: null, loss: null, entropy: null })]);
	assert.doesNotMatch(await readFile(join(folder, 'metrics.jsonl'), 'utf8'), /NaN|Infinity/);
	assert.deepEqual(await listRolloutSteps(folder), [1]);
	assert.deepEqual(await readRollouts(folder, 1), [rollout(1, 0), rollout(1, 1)]);
	assert.deepEqual(await readRollouts(folder, 2), []);
	assert.equal((await readEvents(folder))[0]?.name, 'grpo');
	assert.deepEqual(await readEvaluations(folder), [summary(1)]);
	assert.deepEqual(await readEvaluationLines(folder, 1, 'heldout'), [line]);
	const record = await readRecord(folder);
	assert.equal(await effectiveStatus(record), 'running');
	assert.equal(record.attempt, 1);
	await writer.updateRecord({ status: 'finished', step: 1 });
	await writer.close();
	assert.equal((await readRecord(folder)).status, 'finished');
	assert.deepEqual(await readMetricsEnd(folder), await readMetrics(folder));
});

test('steps must strictly increase', async (context) => {
	const writer = await RunWriter.create(await temporaryFolder(context), initialRecord);
	await writer.appendMetrics(metricsLine(2));
	await assert.rejects(writer.appendMetrics(metricsLine(2)), { reason: 'internal' });
	await writer.appendMetrics(metricsLine(3));
	await writer.close();
});

test('a run folder cannot be created twice, and the existing run does not change', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await assert.rejects(RunWriter.create(folder, initialRecord), { reason: 'busy' });
	await writer.close();
	const before = await readFile(join(folder, 'run.json'), 'utf8');
	await assert.rejects(RunWriter.create(folder, { ...initialRecord, id: 'other' }), { reason: 'exists' });
	assert.equal(await readFile(join(folder, 'run.json'), 'utf8'), before);
});

test('record changes are combined, and the last one is on disk', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await Promise.all(Array.from({ length: 50 }, (_, step) => writer.updateRecord({ step })));
	assert.equal((await readRecord(folder)).step, 49);
	await writer.close();
});

test('the latest checkpoints and the best one are kept', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	for (const [step, score] of [
		[10, 0.2],
		[20, 0.9],
		[30, 0.3],
		[40, null],
	] as const) {
		await checkpoint(writer, step, `weights ${step}`, score);
	}
	assert.deepEqual(await writer.pruneCheckpoints(2), [10]);
	const left = await listCheckpoints(folder);
	assert.deepEqual(
		left.map(({ step, best, bytes }) => ({ step, best, bytes })),
		[
			{ step: 20, best: true, bytes: 10 },
			{ step: 30, best: false, bytes: 10 },
			{ step: 40, best: false, bytes: 10 },
		],
	);
	await writer.close();
});

test('a checkpoint is replaced atomically, and a partial one does not count', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await checkpoint(writer, 5, 'old');
	const { path } = await checkpoint(writer, 5, 'newer');
	assert.equal(await readFile(join(path, 'model.safetensors'), 'utf8'), 'newer');
	await checkpoint(writer, 6, 'whole');
	await writeFile(join(folder, 'checkpoints', 'step_000006', 'model.safetensors'), 'who');
	assert.deepEqual(
		(await writer.listCheckpoints()).map(({ step }) => step),
		[5],
	);
	// Started but not committed.
	await writeFile(join(await writer.beginCheckpoint(7), 'model.safetensors'), 'x');
	assert.equal((await writer.listCheckpoints()).length, 1);
	await writer.close();
});

test('a checkpoint may contain folders, but a link inside it, or in place of a folder, makes it invalid', async (context) => {
	const folder = await temporaryFolder(context);
	const elsewhere = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	const fill = async (step: number) => {
		const aside = await writer.beginCheckpoint(step);
		await mkdir(join(aside, 'trainer', 'ranks'), { recursive: true });
		await writeFile(join(aside, 'model.safetensors'), 'model');
		await writeFile(join(aside, 'trainer', 'ranks', '.metadata'), 'rank');
		return aside;
	};
	await fill(3);
	const { path, bytes } = await writer.commitCheckpoint(3);
	assert.equal(bytes, 9);
	const { files } = JSON.parse(await readFile(join(path, 'checkpoint.json'), 'utf8'));
	assert.deepEqual(files, [
		{ name: 'model.safetensors', bytes: 5 },
		{ name: 'trainer/ranks/.metadata', bytes: 4 },
	]);
	await rename(join(path, 'trainer'), join(elsewhere, 'trainer'));
	assert.deepEqual(await writer.listCheckpoints(), []);
	await symlink(join(elsewhere, 'trainer'), join(path, 'trainer'));
	assert.deepEqual(await writer.listCheckpoints(), []);
	await symlink('/etc', join(await fill(4), 'etc'));
	await assert.rejects(writer.commitCheckpoint(4), { reason: 'invalid' });
	assert.deepEqual(await writer.listCheckpoints(), []);
	await writer.close();
});

test('a crash between the two renames of a checkpoint replacement leaves the old one', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await checkpoint(writer, 5, 'old');
	await writer.close();
	const { rename } = await import('node:fs/promises');
	await rename(join(folder, 'checkpoints', 'step_000005'), join(folder, 'checkpoints', '.step_000005.old'));
	const again = await RunWriter.reopen(folder);
	assert.equal((await again.listCheckpoints())[0]?.step, 5);
	await again.close();
});

test('a resume sets aside everything after the checkpoint and repairs partial lines', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	for (let step = 1; step <= 6; step++) {
		await writer.updateRecord({ step });
		await writer.writeRollouts(step, [rollout(step, 0)]);
		await writer.appendMetrics(metricsLine(step));
		if (step % 2 === 0) await writer.writeEvaluation(step, 'heldout', [], summary(step));
		if (step % 3 === 0) await checkpoint(writer, step, `w${step}`);
		await writer.appendEvent({ type: 'alert', level: 'info', message: `step ${step}` });
	}
	await writer.appendEvent({ type: 'hyperparameters', changes: { learning_rate: 1e-3 }, fromStep: 7 });
	await checkpoint(writer, 5, 'w5');
	await writer.close();
	await appendFile(join(folder, 'metrics.jsonl'), '{"step":7,"time":1');
	await writeFile(join(folder, 'checkpoints', 'step_000006', 'model.safetensors'), '');
	// Leftovers of interrupted writes.
	await mkdir(join(folder, 'data'));
	const cut = ['', 'data', 'rollouts', 'evaluations'].map((name) => join(folder, name, '.run.json.71.0123abcd.tmp'));
	for (const path of cut) await writeFile(path, '{');
	const first = (await readFile(join(folder, 'metrics.jsonl'), 'utf8')).split('\n').slice(0, 3).join('\n');

	const again = await RunWriter.reopen(folder);
	await assert.rejects(RunWriter.reopen(folder), { reason: 'busy' });
	await again.setAside(3);
	assert.equal(await readFile(join(folder, 'metrics.jsonl'), 'utf8'), `${first}\n`);
	for (const path of cut) await assert.rejects(readFile(path), { code: 'ENOENT' });
	assert.deepEqual(await listRolloutSteps(folder), [1, 2, 3]);
	assert.deepEqual(
		(await readEvaluations(folder)).map(({ step }) => step),
		[2],
	);
	assert.deepEqual(
		(await listCheckpoints(folder)).map(({ step }) => step),
		[3],
	);
	assert.deepEqual(
		(await readEvents(folder)).map(({ type, step }) => `${type} ${step}`),
		['alert 1', 'alert 2', 'alert 3', 'hyperparameters 6'],
	);
	const record = await readRecord(folder);
	assert.equal(record.attempt, 2);
	assert.equal(record.step, 3);
	const aside = join(folder, 'superseded', '1');
	assert.deepEqual((await readdir(aside)).sort(), [
		'checkpoints',
		'evaluations',
		'events.jsonl',
		'metrics.jsonl',
		'rollouts',
	]);
	assert.equal((await readFile(join(aside, 'metrics.jsonl'), 'utf8')).split('\n').length, 5);
	assert.deepEqual((await readdir(join(aside, 'checkpoints'))).sort(), ['step_000005', 'step_000006']);
	await again.appendMetrics(metricsLine(4));
	assert.equal((await readMetrics(folder)).length, 4);
	await again.close();

	const third = await RunWriter.reopen(folder);
	await third.setAside(0);
	assert.deepEqual((await readdir(join(folder, 'superseded'))).sort(), ['1', '2']);
	assert.deepEqual(await readMetrics(folder), []);
	assert.equal(third.record.attempt, 3);
	await third.close();
});

test('unknown fields in run.json survive a resume, but an old error does not', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await writer.updateRecord({ status: 'crashed', error: { reason: 'full', message: 'm' }, future: { a: 1 } });
	await writer.close();
	const again = await RunWriter.reopen(folder);
	const record = await readRecord(folder);
	assert.deepEqual(record.future, { a: 1 });
	assert.equal(record.error, undefined);
	await again.close();
});

test('a writer killed at any time leaves a run that reopens with complete lines', async (context) => {
	for (const delay of [15, 60, 140]) {
		const folder = join(await temporaryFolder(context), 'run');
		await mkdir(folder);
		const writer = startHelper(context, 'steadyWriter.ts', folder);
		assert.equal(await writer.line(), 'writing');
		await new Promise((resolve) => setTimeout(resolve, delay));
		writer.process.kill('SIGKILL');
		await writer.ended;
		assert.equal(await effectiveStatus(await readRecord(folder)), 'crashed');
		const done = (await readMetrics(folder)).length;
		const again = await RunWriter.reopen(folder);
		const newest = (await again.listCheckpoints()).at(-1)?.step ?? 0;
		// The writer creates a checkpoint after the metrics of every fifth step, so at most the last one may be missing.
		assert.ok(newest > done - 10, `checkpoint ${newest} of ${done} steps`);
		await again.setAside(newest);
		const metrics = await readMetrics(folder);
		assert.deepEqual(
			metrics.map(({ step }) => step),
			Array.from({ length: newest }, (_, i) => i + 1),
		);
		assert.deepEqual(
			await listRolloutSteps(folder),
			metrics.map(({ step }) => step),
		);
		for (const { step } of metrics) assert.equal((await readRollouts(folder, step)).length, 20);
		assert.deepEqual(
			(await readdir(join(folder, 'rollouts')).catch(() => [])).filter((name) => name.startsWith('.')),
			[],
		);
		await again.appendMetrics(metricsLine(newest + 1));
		await again.close();
		await rm(folder, { recursive: true });
	}
});

test('the end of a long metrics log is read without the rest', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	for (let step = 1; step <= 49; step++) await writer.appendMetrics(metricsLine(step));
	await writer.close();
	const [line] = (await readFile(join(folder, 'metrics.jsonl'), 'utf8')).split('\n').slice(-2);
	const length = (line ?? '').length + 1;
	for (const [bytes, steps] of [
		[length, []],
		[length + 1, [49]],
		[2 * length, [49]],
		[2 * length + 1, [48, 49]],
		[1, []],
	] as const) {
		assert.deepEqual(
			(await readMetricsEnd(folder, bytes)).map(({ step }) => step),
			steps,
			`${bytes}`,
		);
	}
	assert.deepEqual(await readMetricsEnd(join(folder, 'nowhere')), []);
});

test('a line after a partial one is read', async (context) => {
	const path = join(await temporaryFolder(context), 'events.jsonl');
	await writeFile(path, '{"a":1}\n{"b":');
	const file = new AppendFile(path);
	await file.append('{"c":3}\n');
	await file.append('{"d":4}\n');
	await file.close();
	assert.equal(await readFile(path, 'utf8'), '{"a":1}\n{"b":\n{"c":3}\n{"d":4}\n');
});

test('a writer that has released the lock writes nothing more', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await writer.appendMetrics(metricsLine(1));
	await writer.close();
	const before = await readdir(folder);
	await assert.rejects(writer.appendMetrics(metricsLine(2)), { reason: 'unavailable' });
	await assert.rejects(writer.appendEvent({ type: 'late' }), { reason: 'unavailable' });
	await assert.rejects(writer.beginCheckpoint(2), { reason: 'unavailable' });
	writer.log('late');
	await writer.updateRecord({ step: 2 });
	assert.deepEqual(await readdir(folder), before);
	assert.equal((await readMetrics(folder)).length, 1);
	assert.equal((await readRecord(folder)).step, 0);
});

test('a run that has reported that it ended is reopened once its writer has removed the lock', async (context) => {
	const folder = await temporaryFolder(context);
	const writer = await RunWriter.create(folder, initialRecord);
	await writer.updateRecord({ status: 'stopped' });
	const reopened = RunWriter.reopen(folder);
	await new Promise((resolve) => setTimeout(resolve, 100));
	await writer.close();
	const again = await reopened;
	assert.equal((await readRecord(folder)).status, 'starting');
	await again.close();
});
