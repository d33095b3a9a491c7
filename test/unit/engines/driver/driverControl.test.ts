import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import {
	listCheckpoints,
	listRolloutSteps,
	readEvents,
	readMetrics,
	readRecord,
} from '../../../../src/runs/runReader.ts';
import { connectPaused } from '../embedded/rewardRuns.ts';
import { connected, ScriptedPlace, stepWritten } from './driverPlace.ts';

const place = await ScriptedPlace.make();
after(() => place[Symbol.asyncDispose]());

const long = {
	stages: [{ type: 'grpo', steps: 100_000, num_generations: 2, prompts_per_step: 1, learning_rate: 1e-3 }],
	evaluate: { every: 100_000, problems: 4 },
	checkpoint: { every: 100_000, keep: 3 },
};

const reasonOf = async (request: Promise<unknown>) =>
	request.then(
		() => 'none',
		(error: unknown) => Failure.from(error).reason,
	);

it('pauses, answers policy requests, checkpoints, changes hyperparameters and stops over the socket; a resume replays the changes', async () => {
	const run = await place.prepare(long);
	const engine = place.start('--run', run);
	await stepWritten(run, 2);
	const client = await connected(run);
	assert.ok(client.engine.capabilities.includes('policy/generate'));
	assert.ok(!client.engine.capabilities.includes('policy/value'));
	// Generate during training.
	const generated = await client.request('policy/generate', { prompts: ['1+1=', '2+2='] });
	assert.match(generated.completions[1]?.[0]?.text ?? '', /^skill 0\.\d+$/);

	const paused = await client.request('run/pause', {});
	assert.equal(paused.status, 'paused');
	const at = paused.step;
	await client.request('policy/generate', { prompts: ['1+1='] });
	assert.equal(
		await reasonOf(client.request('policy/score', { prompts: ['1+1='], completions: ['2'] })),
		'unsupported',
	);
	assert.equal(await reasonOf(client.request('policy/score', { prompts: ['1+1='], completions: [] })), 'invalid');
	const { path } = await client.request('run/checkpoint', {});
	assert.equal((await listCheckpoints(run)).at(-1)?.path, path);
	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 5e-4 });
	assert.equal(fromStep, at + 1);
	assert.equal((await readMetrics(run)).at(-1)?.step, at, 'a paused run does not train');

	assert.equal((await client.request('run/continue', {})).status, 'running');
	await stepWritten(run, at + 3);
	const rate = new Map((await readMetrics(run)).map(({ step, values }) => [step, values.learning_rate]));
	assert.deepEqual([rate.get(at), rate.get(at + 1), rate.get(at + 3)], [1e-3, 5e-4, 5e-4]);

	const stopped = await client.request('run/stop', { checkpoint: true });
	assert.equal(stopped.status, 'stopped');
	client.dispose();
	assert.equal((await engine.exit).code, 0);
	const end = await readRecord(run);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, end.step);
	assert.deepEqual(await place.trainers(), []);

	const again = place.start('--run', run, '--resume');
	await stepWritten(run, end.step + 2);
	again.kill('SIGTERM');
	assert.equal((await again.exit).code, 0);
	const record = await readRecord(run);
	assert.equal(record.status, 'stopped');
	assert.equal(record.attempt, 2);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, record.step);
	assert.equal((await readMetrics(run)).find(({ step }) => step === end.step + 1)?.values.learning_rate, 5e-4);
	assert.ok((await readEvents(run)).some(({ type, fromStep }) => type === 'resumed' && fromStep === end.step));
});

it('a failing reward pauses the run, which still answers and saves, then scores the same batch again', async () => {
	const down = join(place.folder, 'down');
	await writeFile(
		join(place.folder, 'x.reward.ts'),
		`import { existsSync } from 'node:fs';
export const brevity = ({ completion }: { completion: string }) => {
	if (existsSync(${JSON.stringify(down)})) throw new Error('the service is down');
	return 1 / (3 + completion.length);
};
`,
	);
	await writeFile(down, '');
	const run = await place.prepare({ ...long, rewards: [{ use: 'accuracy' }, { file: 'x.reward.ts' }] });
	const engine = place.start('--run', run);
	const client = await connectPaused(run);
	const held = await readRecord(run);
	assert.match(held.pause?.message ?? '', /"brevity" .* failed on 2 of 2 rows: .*the service is down/);
	assert.equal(held.step, 0);
	assert.deepEqual(await listRolloutSteps(run), []);
	await client.request('policy/generate', { prompts: ['1+1='] });
	const { path } = await client.request('run/checkpoint', {});
	assert.match(await readFile(join(path, 'state.json'), 'utf8'), /"cursor": 0/);
	// The reward is still down: the batch is scored again and the run pauses again.
	await client.request('run/continue', {});
	const again = await connectPaused(run);
	await rm(down);
	assert.equal((await again.request('run/continue', {})).status, 'running');
	await stepWritten(run, 1);
	// Fail once more; stopping discards the batch.
	await writeFile(down, '');
	const last = await connectPaused(run);
	const stopped = await last.request('run/stop', { checkpoint: true });
	assert.equal(stopped.status, 'stopped');
	for (const each of [client, again, last]) each.dispose();
	assert.equal((await engine.exit).code, 0);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, (await readRecord(run)).step);
	const steps = (await readMetrics(run)).map(({ step }) => step);
	assert.deepEqual(
		steps.filter((step) => step > 0),
		Array.from({ length: stopped.step }, (_, i) => i + 1),
	);
});

it('stopping during trainer creation does not wait for the trainer', async () => {
	place.fault = 'slow';
	const run = await place.prepare(long);
	const engine = place.start('--run', run);
	const client = await connected(run);
	const stopped = await client.request('run/stop', { checkpoint: true });
	assert.equal(stopped.status, 'stopped');
	client.dispose();
	place.fault = '';
	assert.equal((await engine.exit).code, 0);
	assert.deepEqual(await place.trainers(), []);
});
