import assert from 'node:assert/strict';
import { appendFile, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { RunMirror } from '../../../../../src/engines/driver/ray/runMirror.ts';
import { listCheckpoints, readEvents, readRecord } from '../../../../../src/runs/runReader.ts';
import { RunWriter } from '../../../../../src/runs/runWriter.ts';
import { beforeRemoval, initialRecord, metricsLine, rollout, temporaryFolder } from '../../../runs/runFixtures.ts';

interface Pair {
	readonly there: string;
	readonly here: string;
	remote: RunWriter;
	readonly local: RunWriter;
	mirror: RunMirror;
}

async function pair(context: TestContext): Promise<Pair> {
	const root = await temporaryFolder(context);
	const there = join(root, 'there');
	const here = join(root, 'here');
	await mkdir(there);
	await mkdir(here);
	const remote = await RunWriter.create(there, { ...initialRecord, engine: 'pytorch' });
	const local = await RunWriter.create(here, { ...initialRecord, engine: 'ray' });
	const made: Pair = {
		there,
		here,
		remote,
		local,
		mirror: new RunMirror(there, local, { checkpoints: true, attempt: 0 }),
	};
	beforeRemoval(context, async () => {
		await made.mirror.close();
		await made.remote.close();
		await local.close();
	});
	return made;
}

async function step(writer: RunWriter, number: number, value = number / 100): Promise<void> {
	await writer.writeRollouts(number, [rollout(number, 0), rollout(number, 1)]);
	await writer.appendMetrics(metricsLine(number, { reward: value }));
	await writer.updateRecord({ step: number, status: 'running' });
}

async function checkpoint(writer: RunWriter, number: number): Promise<void> {
	const folder = await writer.beginCheckpoint(number);
	await writeFile(join(folder, 'model.safetensors'), `weights of ${number}`);
	await writeFile(join(folder, 'state.json'), '{}');
	await writer.commitCheckpoint(number, { score: number / 10 });
	await writer.appendEvent({ type: 'checkpoint', path: `checkpoints/step_${number}`, best: false, step: number });
}

async function evaluation(writer: RunWriter, number: number): Promise<void> {
	const summary = {
		name: 'heldout',
		step: number,
		problems: 2,
		samples: 1,
		temperature: 1,
		accuracy: 0.5,
		low: 0,
		high: 1,
	};
	const line = { problem: 0, sample: 0, prompt: 'p', completion: 'c', correct: true, truncated: false };
	await writer.writeEvaluation(number, 'heldout', [line], summary);
}

const text = (folder: string, name: string) => readFile(join(folder, name), 'utf8');
const types = async (folder: string) => (await readEvents(folder)).map(({ type, step: at }) => `${type}@${at}`);

async function same(made: Pair): Promise<void> {
	const { there, here } = made;
	assert.equal(await text(here, 'metrics.jsonl'), await text(there, 'metrics.jsonl'));
	const rollouts = await readdir(join(there, 'rollouts'));
	assert.deepEqual((await readdir(join(here, 'rollouts'))).sort(), rollouts.sort());
	for (const name of rollouts) {
		assert.equal(await text(here, `rollouts/${name}`), await text(there, `rollouts/${name}`));
	}
	const own = (await readEvents(here)).filter((event) => event.local !== true);
	assert.deepEqual(own, await readEvents(there));
}

test('a run is mirrored as it grows: metrics, rollouts, events, evaluations, checkpoints, record', async (context) => {
	const made = await pair(context);
	const { remote, mirror, local, here } = made;
	await remote.appendEvent({ type: 'started', step: 0 });
	await step(remote, 1);
	assert.equal((await mirror.sync())?.step, 1);
	await same(made);
	await step(remote, 2);
	await evaluation(remote, 2);
	await checkpoint(remote, 2);
	await remote.updateRecord({ stage: 'grpo', totalSteps: 9, rewards: [{ name: 'accuracy', weight: 1 }] });
	await local.appendEvent({ type: 'alert', level: 'info', message: 'of this side', local: true });
	await mirror.sync(true);
	await same(made);
	assert.deepEqual(await types(here), ['started@0', 'alert@1', 'checkpoint@2']);
	assert.deepEqual(JSON.parse(await text(here, 'evaluations/step_000002/heldout.json')).accuracy, 0.5);
	assert.equal(await text(here, 'checkpoints/step_000002/model.safetensors'), 'weights of 2');
	const [found] = await listCheckpoints(here);
	assert.deepEqual([found?.step, found?.score], [2, 0.2]);
	const record = await readRecord(here);
	assert.deepEqual(
		[record.engine, record.stage, record.totalSteps, record.step, record.rewards?.length],
		['ray', 'grpo', 9, 2, 1],
	);
	for (const at of [3, 4]) await checkpoint(remote, at);
	await remote.pruneCheckpoints(1);
	await mirror.sync(true);
	assert.deepEqual(
		(await listCheckpoints(here)).map((each) => each.step),
		[4],
	);
});

test('the mirror follows a rollback to a checkpoint without duplicating steps', async (context) => {
	const made = await pair(context);
	const { there, here, mirror } = made;
	for (const at of [1, 2, 3]) await step(made.remote, at);
	await checkpoint(made.remote, 2);
	await mirror.sync(true);
	await made.remote.close();
	// The cluster's driver died in the middle of step 4, and a new one continues from step 2.
	await appendFile(join(there, 'metrics.jsonl'), '{"step":4,"ti');
	made.remote = await RunWriter.reopen(there);
	await made.remote.setAside(2);
	await made.remote.appendEvent({ type: 'resumed', attempt: 2, fromStep: 2 });
	await step(made.remote, 3, 0.5);
	await mirror.sync(true);
	await step(made.remote, 4);
	await mirror.sync(true);
	await same(made);
	assert.equal((await readRecord(here)).attempt, 2);
	assert.equal(mirror.attempt, 2);
	const steps = (await text(here, 'metrics.jsonl'))
		.trim()
		.split('\n')
		.map((line) => JSON.parse(line).step);
	assert.deepEqual(steps, [1, 2, 3, 4]);
	const aside = await text(here, 'superseded/1/metrics.jsonl');
	assert.deepEqual(JSON.parse(aside.trim()).step, 3);
	assert.deepEqual(await readdir(join(here, 'superseded', '1', 'rollouts')), ['step_000003.jsonl']);
});

test('a restarted mirror repeats nothing, even after partial writes', async (context) => {
	const made = await pair(context);
	const { remote, there, here, local } = made;
	await remote.appendEvent({ type: 'started', step: 0 });
	await step(remote, 1);
	await local.appendEvent({ type: 'alert', level: 'info', message: 'of this side', local: true });
	await remote.appendEvent({ type: 'stage', name: 'grpo', index: 0, step: 1 });
	await made.mirror.sync(true);
	await made.mirror.close();
	const first = { attempt: made.mirror.attempt, record: (await readRecord(here)).attempt };
	made.mirror = new RunMirror(there, local, { checkpoints: true, attempt: first.attempt });
	await step(remote, 2);
	await remote.appendEvent({ type: 'finished', step: 2 });
	await made.mirror.sync(true);
	await same(made);
	assert.deepEqual(await types(here), ['alert@0', 'started@0', 'stage@1', 'finished@2']);
	assert.equal((await readRecord(here)).attempt, first.record);
	await made.mirror.close();
	// The local side died while writing.
	await appendFile(join(here, 'metrics.jsonl'), '{"step":3,');
	made.mirror = new RunMirror(there, local, { checkpoints: true, attempt: made.mirror.attempt });
	await step(remote, 3);
	await made.mirror.sync(true);
	await same(made);
});

test('the mirror catches up on attempts made while it was down', async (context) => {
	const made = await pair(context);
	const { there, here, local } = made;
	for (const at of [1, 2, 3]) await step(made.remote, at);
	await made.remote.appendEvent({ type: 'hyperparameters', changes: { beta: 0 }, fromStep: 4, step: 3 });
	await made.mirror.sync(true);
	await made.mirror.close();
	await made.remote.close();
	for (const from of [2, 1]) {
		made.remote = await RunWriter.reopen(there);
		await made.remote.setAside(from);
		await step(made.remote, from + 1, from);
		if (from === 2) await made.remote.close();
	}
	made.mirror = new RunMirror(there, local, { checkpoints: true, attempt: made.mirror.attempt });
	await made.mirror.sync(true);
	await same(made);
	assert.equal((await readRecord(here)).attempt, 3);
});

test('invalid run data is not mirrored, and links are not followed', async (context) => {
	const made = await pair(context);
	const { remote, there, here, mirror } = made;
	await step(remote, 1);
	await appendFile(join(there, 'metrics.jsonl'), 'no json\n{"step":"2"}\n{"step":1}\n');
	await symlink('/etc/hostname', join(there, 'rollouts', 'step_000007.jsonl'));
	await assert.rejects(mirror.sync(), { reason: 'invalid' });
	const names: string[] = await readdir(join(here, 'rollouts')).catch(() => []);
	assert.ok(!names.includes('step_000007.jsonl'));
	await mirror.sync().catch(() => undefined);
	assert.equal((await text(here, 'metrics.jsonl')).trim().split('\n').length, 1);
});
