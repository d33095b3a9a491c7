/** Resumes a run on a Ray cluster as a second job and kills a worker: no step may be missing or duplicated. */
// @reaches driver trainer
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { listCheckpoints, readEvents, readRecord } from '../../src/runs/runReader.ts';
import {
	connected,
	ended,
	jobs,
	launch,
	log,
	moreSteps,
	paused,
	prepare,
	range,
	skip,
	steps,
	stepsOf,
	useRayCluster,
} from '../trainer/rayRuns.ts';

useRayCluster();

test('a stopped run resumes as a separate job, survives the loss of a worker, and finishes', {
	skip,
}, async () => {
	const run = await prepare('whole');
	await launch(run);
	const client = await connected(run);
	await paused(run, client);
	const first = (await stepsOf(run)).length;
	await client.request('run/continue', {});
	await moreSteps(run, first);
	const stopped = await client.request('run/stop', { checkpoint: true });
	client.dispose();
	assert.equal(stopped.status, 'stopped', await log(run));
	const done = await stepsOf(run);
	assert.deepEqual(done, range(0, done.length - 1));

	jobs.push(`${basename(run)}-2`);
	await launch(run, true);
	const { id } = await readRecord(run);
	await moreSteps(run, done.length);
	const resumed = await connected(run);
	await paused(run, resumed);
	assert.equal((await readRecord(run)).attempt, 2);
	const pausedAt = (await readRecord(run)).step;
	assert.ok(pausedAt < steps, 'the run is paused before its end');
	const sidecar = join(process.env.REASONING_LAB_HOME as string, 'ray', `${id}.ray`);
	const { pid } = JSON.parse(await readFile(join(sidecar, 'workers', '1.json'), 'utf8'));
	process.kill(pid, 'SIGKILL');
	const last = await ended(run);
	resumed.dispose();
	assert.equal(last.status, 'finished', await log(run));
	assert.equal(last.attempt, 3, 'the run was restarted');
	assert.deepEqual(await stepsOf(run), range(0, steps));
	const rollouts = (await readdir(join(run, 'rollouts'))).sort();
	assert.deepEqual(
		rollouts,
		range(1, steps).map((step) => `step_${String(step).padStart(6, '0')}.jsonl`),
	);
	const kept = (await listCheckpoints(run)).map(({ step }) => step);
	for (const step of [6, 12, 18, 24]) assert.ok(kept.includes(step), `${kept}`);
	const events = (await readEvents(run)).map(({ type }) => type);
	assert.equal(events.filter((type) => type === 'finished').length, 1);
	assert.equal(events.filter((type) => type === 'resumed').length, 2);
	// The local copy must match the file on the cluster.
	const there = join(process.env.REASONING_LAB_HOME as string, 'ray', id, 'metrics.jsonl');
	assert.equal(await readFile(join(run, 'metrics.jsonl'), 'utf8'), await readFile(there, 'utf8'));
});
