// @reaches pipeline
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readPipeline } from '../../../src/runs/pipeline/pipelineFolder.ts';
import { viewPipeline } from '../../../src/runs/pipeline/pipelineView.ts';
import { stopPipeline } from '../../../src/runs/pipeline/startPipeline.ts';
import { connectRun } from '../../../src/runs/runControl.ts';
import { readRecord } from '../../../src/runs/runReader.ts';
import { claimsLife, readRunState } from '../../../src/runs/runStatus.ts';
import { StepLimit } from '../engines/embedded/stepLimit.ts';
import { cold, ended, kill, made, PipelinePlace, rl, stageOf, states } from './pipelinePlace.ts';

/** Runs on this machine use the device one after another. */
const queue = { whenBusy: 'queue' };

/** Rows for a task that a few steps of imitation solve in part: the answer is one of two digits. */
const rows = (numbers: readonly number[]) =>
	numbers
		.map((n) => ({ prompt: `${n}=`, answer: `${n % 2}`, solution: `${n % 2}` }))
		.map((row) => `${JSON.stringify(row)}\n`)
		.join('');

const branches = ['left', 'right'] as const;

test('stages run in parallel, and any of their processes can be paused, killed and resumed', async (context) => {
	const place = await PipelinePlace.make(context);
	const [left, right] = await Promise.all(branches.map((name) => StepLimit.write(place.folder, name)));
	assert.ok(left && right);
	// Two branches from one stage, and stages that need both.
	const branch = { ...rl, steps: 6, max_completion_length: 20 };
	const measure = { type: 'evaluate', problems: 6, samples: 2, concurrency: 1 };
	const stages = [
		{ ...cold, steps: 30 },
		{ ...branch, name: 'left', rewards: [{ use: 'accuracy' }, left.reward] },
		{ ...branch, name: 'right', seed: 8, rewards: [{ use: 'accuracy' }, right.reward] },
		{ ...measure, name: 'measure-left', from: 'left' },
		{ ...measure, name: 'measure-right', from: 'right' },
	];
	await writeFile(join(place.folder, 'train.jsonl'), rows([0, 1, 2, 3, 4, 5, 6, 7]));
	await writeFile(join(place.folder, 'test.jsonl'), rows([8, 9, 10, 11, 12, 13]));
	const more = {
		...queue,
		dataset: { path: 'train.jsonl', heldOut: 'test.jsonl' },
		model: { layers: 1, width: 16, heads: 2, context: 32 },
		checkpoint: { every: 2, keep: 2 },
		scoring: StepLimit.scoring,
	};
	const { folder: serial, record: expected } = await place.runHere(stages, more);
	assert.equal(expected.status, 'finished', expected.error?.message);

	const allowBoth = async (steps: number) => {
		for (const limit of [left, right]) await limit.allow(steps);
	};
	await allowBoth(2);
	const together = { ...place.options, parallel: 2 };
	const { folder } = await place.start(stages, more, together);
	/** Waits until both branches wait after this many steps. */
	const both = async (steps: number) => {
		for (const limit of [left, right]) await limit.reached(steps);
		const record = await readPipeline(folder);
		for (const name of branches) assert.equal(stageOf(record, name).status, 'running', name);
	};
	await both(2);
	// A paused stage does not hold up the other one, although both use the same device.
	const rightRun = join(folder, 'right');
	const client = await connectRun(rightRun, await readRecord(rightRun), 'test');
	const pausing = client.request('run/pause', {});
	// Once this is answered, the engine has received the pause, which takes effect after the step.
	await client.request('run/status', {});
	await right.allow(3);
	assert.equal((await pausing).step, 3);
	await left.allow(3);
	await left.reached(3);
	assert.equal((await readRecord(rightRun)).status, 'paused');
	await client.request('run/continue', {});
	await right.reached(3);
	client.dispose();
	const runLives = async (run: string) => claimsLife(await readRunState(run));
	// Kill the runner and one engine; the other engine continues, and is stopped although its turn has not come.
	await kill(await readPipeline(folder));
	await kill(await readRecord(join(folder, 'left')));
	const { record: again } = await place.resume(folder, {}, { ...place.options, parallel: 1 });
	assert.equal(again.parallel, 1);
	assert.ok(await runLives(rightRun));
	await stopPipeline(folder);
	const stopped = await readPipeline(folder);
	assert.equal(stopped.status, 'stopped');
	assert.ok(!states(stopped).some((state) => state.endsWith('running')), states(stopped).join());
	for (const name of branches) assert.ok(!(await runLives(join(folder, name))), name);
	// The number of parallel stages is recorded.
	await allowBoth(4);
	await place.resume(folder, {}, together);
	await both(4);
	await kill(await readPipeline(folder));
	const { record: last } = await place.resume(folder);
	assert.equal(last.parallel, 2);
	await allowBoth(Number.POSITIVE_INFINITY);
	const record = await ended(folder, last.attempt);
	assert.deepEqual(states(record), states(expected), record.error?.message);
	for (const { name } of stages) assert.deepEqual(made(record, name), made(expected, name), name);
	for (const name of ['measure-left', 'measure-right']) {
		assert.ok((stageOf(expected, name).accuracy ?? 0) > 0, `${name} has no correct answers`);
		assert.equal(stageOf(record, name).accuracy, stageOf(expected, name).accuracy);
		const report = (at: string) =>
			readFile(join(at, name, 'report.json'), 'utf8').then((text) => JSON.parse(text).accuracy);
		assert.deepEqual(await report(folder), await report(serial));
	}
});

test('a failed stage does not stop the others, and their results are kept', async (context) => {
	const place = await PipelinePlace.make(context);
	const stages = [
		cold,
		{ ...rl, name: 'bad', minutes: 0.01, steps: 1_000_000 },
		{ ...rl, name: 'good' },
		{ ...rl, name: 'after', from: 'good' },
	];
	const folder = await place.prepare(stages, queue);
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
