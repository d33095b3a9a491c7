// @reaches driver trainer
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isFinal, JobsApi } from '../../src/engines/driver/ray/jobsApi.ts';
import { rolloutEpisode } from '../../src/protocol/rolloutEpisode.ts';
import {
	listCheckpoints,
	readEvaluationLines,
	readEvents,
	readRecord,
	readRollouts,
} from '../../src/runs/runReader.ts';
import {
	cluster,
	connected,
	ended,
	follow,
	launch,
	log,
	moreSteps,
	paused,
	prepare,
	prepareEpisodes,
	range,
	skip,
	steps,
	stepsOf,
	until,
	useRayCluster,
} from './rayRuns.ts';

/** Worker loss and resuming as a second job are tested in test/acceptance/rayRestarts.test.ts. */

useRayCluster();

test('a run with two workers can be controlled, survives the loss of its local driver, and stops with a checkpoint', {
	skip,
}, async () => {
	const run = await prepare('whole');
	await launch(run);
	const before = await connected(run);
	await paused(run, before);
	before.dispose();
	const record = await readRecord(run);
	// Kill the local driver; the job continues.
	process.kill(record.pid, 'SIGKILL');
	await launch(run, true);
	const again = await readRecord(run);
	assert.notEqual(again.pid, record.pid);
	const { job } = again.ray as { job: string };
	assert.equal(job, (record.ray as { job: string }).job);
	const client = await connected(run);
	await paused(run, client);
	const generated = await client.request('policy/generate', { prompts: ['1+2='], n: 2, maxTokens: 3, seed: 1 });
	assert.equal(generated.completions[0]?.length, 2);
	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 5e-4 });
	const checkpoint = await client.request('run/checkpoint', {});
	assert.ok((await listCheckpoints(run)).some(({ path }) => path === checkpoint.path));
	const first = (await stepsOf(run)).length;
	await client.request('run/continue', {});
	await moreSteps(run, first);
	const stopped = await client.request('run/stop', { checkpoint: true });
	client.dispose();
	assert.equal(stopped.status, 'stopped', await log(run));
	assert.equal(stopped.attempt, 1);
	const done = await stepsOf(run);
	assert.ok(done.length <= steps, 'the run was stopped before its end');
	assert.deepEqual(done, range(0, done.length - 1));
	assert.equal((await listCheckpoints(run)).at(-1)?.step, done.at(-1));
	const changed = (await readEvents(run)).filter(({ type }) => type === 'hyperparameters');
	assert.deepEqual(
		changed.map((event) => event.fromStep),
		[fromStep],
	);
	const api = new JobsApi({ address: cluster.address, headers: {} });
	const ending = await until('the job has ended', async () => {
		const found = await api.job(job);
		return found !== null && isFinal(found.status) ? found : null;
	});
	assert.equal(ending.status, 'SUCCEEDED');
	assert.match(stopped.device, /^ray: cpu/);
	assert.match(stopped.versions.ray ?? '', /^2\./);
});

test('each worker plays the episodes of its completions, in a separate process', { skip }, async () => {
	const run = await prepareEpisodes('episodes');
	await launch(run);
	const record = await ended(run);
	assert.equal(record.status, 'finished', `${record.error?.message}\n${await log(run)}`);
	const lines = await readRollouts(run, 1);
	assert.deepEqual(
		lines.map(({ group, index }) => [group, index]),
		[0, 1, 2].flatMap((group) => [0, 1].map((index) => [group, index])),
	);
	const states = lines.map(({ extra }) => rolloutEpisode(extra)?.state);
	for (const [i, { row, rewards }] of lines.entries()) {
		const { number } = row as { number: number };
		assert.deepEqual([states[i]?.number, rewards.environment], [number, number]);
	}
	const processes = states.map((state) => state?.process);
	assert.deepEqual([new Set(processes.slice(0, 3)).size, new Set(processes.slice(3)).size], [1, 1]);
	assert.notEqual(processes[0], processes[3]);
	// The episodes of held-out problems are recorded once.
	assert.equal((await readEvaluationLines(run, 0, 'heldout')).length, 2);
});

test('unsupported requests are rejected with one message, and losing the head node ends the run with advice', {
	skip,
}, async () => {
	const refused = await prepare('refused', { ray: { workers: 1, storage: '/proc/nowhere' } });
	assert.notEqual(await follow(refused).exit, 0);
	const record = await readRecord(refused);
	assert.equal(record.status, 'crashed');
	assert.match(record.error?.message ?? '', /cannot write to folder \/proc\/nowhere/);
	const run = await prepare('headless', { ray: { workers: 1 } });
	const engine = follow(run);
	await until('the job is submitted', async () =>
		/\(job /.test((await readRecord(run).catch(() => null))?.device ?? ''),
	);
	await cluster.kill();
	await until('the loss is reported', async () => /not reached since/.test((await readRecord(run)).device));
	// The driver is asked to stop, but the job cannot be reached.
	engine.stop();
	assert.notEqual(await engine.exit, 0);
	const lost = await readRecord(run);
	assert.equal(lost.status, 'crashed');
	assert.match(lost.error?.message ?? '', /to stop job .* the job is still running/);
	assert.match(lost.error?.action ?? '', /resume the run to reattach/);
});
