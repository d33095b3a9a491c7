// @reaches pipeline
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPipeline } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { viewPipeline } from '../../../src/runs/pipeline/pipelineView.ts';
import { stopPipeline } from '../../../src/runs/pipeline/startPipeline.ts';
import { connectRun } from '../../../src/runs/runControl.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { claimsLife, readRunState } from '../../../src/runs/runStatus.ts';
import { eventually } from '../engines/embedded/engineProcess.ts';
import { cold, ended, kill, made, PipelinePlace, rl, stageOf, states, stepsOf } from './pipelinePlace.ts';

/** Two branches from one stage, and stages that need both. Runs on this machine use the device one after another. */
const queue = { whenBusy: 'queue' };
const stages = [
	{ ...cold, steps: 8 },
	// Long enough to still be running when they are paused and killed.
	{ ...rl, name: 'left', steps: 150 },
	{ ...rl, name: 'right', steps: 150, seed: 8 },
	{ name: 'measure-left', type: 'evaluate', from: 'left', problems: 6, samples: 2, concurrency: 1 },
	{ name: 'measure-right', type: 'evaluate', from: 'right', problems: 6, samples: 2, concurrency: 1 },
];

test('stages run in parallel, and any of their processes can be paused, killed and resumed', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder: serial, record: expected } = await place.runHere(stages, queue);
	assert.equal(expected.status, 'finished', expected.error?.message);

	const together = { ...place.options, parallel: 2 };
	const { folder } = await place.start(stages, queue, together);
	const both = () =>
		eventually(async () => {
			const record = await readPipeline(folder);
			return ['left', 'right'].every((name) => stageOf(record, name).status === 'running');
		}, 'both branches run');
	await both();
	// A paused stage does not hold up the other one, although both use the same device.
	const right = join(folder, 'right');
	await eventually(async () => (await stepsOf(folder, 'right')) >= 1, 'the right branch trains');
	const client = await connectRun(right, await readRecord(right), 'test');
	await client.request('run/pause', {});
	await eventually(async () => (await stepsOf(folder, 'left')) >= 1, 'the left branch trains');
	await client.request('run/continue', {});
	client.dispose();
	const runLives = async (run: string) => claimsLife(await readRunState(run));
	// Kill the runner and one engine; the other engine continues, and is stopped although its turn has not come.
	await kill(await readPipeline(folder));
	await kill(await readRecord(join(folder, 'left')));
	const { record: again } = await place.resume(folder, {}, { ...place.options, parallel: 1 });
	assert.equal(again.parallel, 1);
	await stopPipeline(folder);
	const stopped = await readPipeline(folder);
	assert.equal(stopped.status, 'stopped');
	assert.ok(!states(stopped).some((state) => state.endsWith('running')), states(stopped).join());
	for (const name of ['left', 'right']) assert.ok(!(await runLives(join(folder, name))), name);
	// The number of parallel stages is recorded.
	await place.resume(folder, {}, together);
	await both();
	await kill(await readPipeline(folder));
	const { record: last } = await place.resume(folder);
	assert.equal(last.parallel, 2);
	const record = await ended(folder, last.attempt);
	assert.deepEqual(states(record), states(expected), record.error?.message);
	for (const { name } of stages) assert.deepEqual(made(record, name), made(expected, name), name);
	for (const name of ['measure-left', 'measure-right']) {
		assert.equal(stageOf(record, name).accuracy, stageOf(expected, name).accuracy);
		const report = (at: string) =>
			readFile(join(at, name, 'report.json'), 'utf8').then((text) => JSON.parse(text).accuracy);
		assert.deepEqual(await report(folder), await report(serial));
	}
});

test('a failed stage does not stop the others, and their results are kept', async (context) => {
	const place = await PipelinePlace.make(context);
	const branches = [
		cold,
		{ ...rl, name: 'bad', minutes: 0.01, steps: 1_000_000 },
		{ ...rl, name: 'good', steps: 20 },
		{ ...rl, name: 'after', from: 'good' },
	];
	const folder = await place.prepare(branches, queue);
	const record = await place.resumedHere(folder, {}, { failing: 'bad', parallel: 2 });
	assert.deepEqual(states(record), ['cold finished', 'bad failed', 'good finished', 'after waiting']);
	assert.equal(record.status, 'failed');
	assert.match(record.error?.message ?? '', /bad/);
	const view = await viewPipeline(folder);
	assert.equal(view.stages.find(({ name }) => name === 'good')?.status, 'finished');
	const after = await place.resumedHere(folder, {}, { failing: 'bad', parallel: 1 });
	assert.deepEqual(made(after, 'good'), made(record, 'good'));
});

test('a run that finishes after its stage was planned is not started again', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder, record } = await place.runHere([{ ...cold, steps: 1 }]);
	const launch = () => Promise.reject(new Error('The engine was started again.'));
	// The runner plans to follow the run because it is in progress, which is the same as resuming it.
	const end = await place.trainStage(join(folder, 'cold'), { ...cold, steps: 1 }, launch);
	assert.equal(end.kind, 'finished');
	assert.deepEqual(end.outputs, stageOf(record, 'cold').outputs);
});
