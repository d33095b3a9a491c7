import assert from 'node:assert/strict';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Failure } from '../../../../src/base/failure.ts';
import type { ControlClient } from '../../../../src/rpc/controlClient.ts';
import { connectRun, connectServed } from '../../../../src/runs/runControl.ts';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { effectiveStatus } from '../../../../src/runs/runStatus.ts';
import { eventually, shortRecipe, tinyRecipe, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';
import { StepLimit } from './stepLimit.ts';

/** Long enough that the run is still in progress when a test connects; the test stops it. */
const longRecipe = {
	...tinyRecipe,
	stages: [{ type: 'grpo', steps: 100_000, num_generations: 4, prompts_per_step: 4, learning_rate: 1e-3 }],
	evaluate: { every: 1000, problems: 8 },
	checkpoint: { every: 1000 },
};

const shared = await Workplace.make();
after(() => shared[Symbol.asyncDispose]());
const sharedLimit = await StepLimit.write(shared.folder);
const keeping = {
	...tinyRecipe,
	rewards: [{ use: 'accuracy' }, sharedLimit.reward],
	scoring: StepLimit.scoring,
	checkpoint: { every: 8, keep: 100 },
};
/** Uninterrupted run to compare with. */
const finished = await uninterrupted(shared, keeping, true);

async function connect(run: string): Promise<ControlClient> {
	const record = await eventually(async () => {
		const found = await readRecord(run).catch(() => null);
		return found?.status === 'running' ? found : null;
	}, 'the run starts');
	return connectRun(run, record, 'test');
}

test('pause, checkpoint, hyperparameters, policy requests and stop work over the socket', async () => {
	await using place = await Workplace.make();
	const run = await place.prepare(longRecipe);
	const engine = place.start('--run', run);
	const client = await connect(run);
	let changes = 0;
	client.onChanged(() => changes++);

	const running = await client.request('run/status', {});
	assert.equal(running.status, 'running');
	await eventually(async () => (await client.request('run/status', {})).step > running.step, 'the run progresses');

	const paused = await client.request('run/pause', {});
	assert.equal(paused.status, 'paused');
	assert.equal((await readRecord(run)).status, 'paused');
	await new Promise((resolve) => setTimeout(resolve, 300));
	const still = await client.request('run/status', {});
	assert.equal(still.step, paused.step);
	assert.equal((await readMetrics(run)).at(-1)?.step, paused.step);

	const { path } = await client.request('run/checkpoint', {});
	assert.ok((await stat(path)).isDirectory());
	assert.equal((await listCheckpoints(run)).at(-1)?.step, paused.step);

	const prompts = ['1+2=', '3+4='];
	const request = { prompts, n: 3, maxTokens: 9, logprobs: true, seed: 5 };
	const generated = await client.request('policy/generate', request);
	assert.deepEqual(await client.request('policy/generate', request), generated);
	assert.deepEqual(
		generated.completions.map((list) => list.length),
		[3, 3],
	);
	const first = generated.completions[0]?.[0];
	assert.ok(first?.tokens);
	assert.ok(first.tokens.text.length <= 9);
	const text = first.tokens.text.filter((token) => !['<eos>', '<pad>', '<bos>'].includes(token));
	assert.equal(text.join(''), first.text);
	const scored = await client.request('policy/score', { prompts: ['1+2='], completions: [first.text] });
	if (text.length === first.tokens.text.length || first.tokens.text.indexOf('<eos>') === text.length) {
		assert.equal(scored.logprobs[0]?.length, text.length);
		for (const [i, logprob] of (scored.logprobs[0] ?? []).entries()) {
			assert.ok(Math.abs(logprob - (first.tokens.logprob[i] as number)) < 1e-3);
		}
	}
	await assert.rejects(client.request('policy/generate', { prompts: ['what?'] }), /not in the vocabulary/);
	await assert.rejects(client.request('policy/score', { prompts: ['1+2='], completions: [''], reference: true }), {
		reason: 'unsupported',
	});

	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 5e-4, temperature: 1.5 });
	assert.equal(fromStep, paused.step + 1);
	const event = (await readEvents(run)).find(({ type }) => type === 'hyperparameters');
	assert.deepEqual(event?.changes, { learning_rate: 5e-4, temperature: 1.5 });

	assert.equal((await client.request('run/continue', {})).status, 'running');
	await eventually(async () => (await readMetrics(run)).some(({ step }) => step >= fromStep), 'the run continues');
	const trained = (await readMetrics(run)).filter(({ step }) => step > 0);
	const rates = trained.map(({ step, values }) => [step, values.learning_rate] as const);
	assert.deepEqual(new Set(rates.filter(([step]) => step < fromStep).map(([, rate]) => rate)), new Set([1e-3]));
	assert.deepEqual(new Set(rates.filter(([step]) => step >= fromStep).map(([, rate]) => rate)), new Set([5e-4]));

	// A second client sees the same run, and both get responses.
	const other = await connect(run);
	const [a, b] = await Promise.all([other.request('run/pause', {}), client.request('run/pause', {})]);
	assert.equal(a.step, b.step);
	const stopped = await other.request('run/stop', { checkpoint: true });
	assert.equal(stopped.status, 'stopped');
	assert.equal((await engine.exit).code, 0);
	const record = await readRecord(run);
	assert.equal(record.status, 'stopped');
	assert.equal(record.step, a.step);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, a.step);
	assert.ok(changes > 0);
	client.dispose();
	other.dispose();
});

test('pausing, sampling and requested checkpoints do not change what a run learns', async () => {
	await using place = await Workplace.make();
	const { outcome: expected } = finished;
	const run = await place.prepare(keeping);
	await sharedLimit.allow(32);
	const engine = place.start('--run', run);
	await sharedLimit.reached(32);
	const client = await connect(run);
	let disturbed = 0;
	let pausing = client.request('run/pause', {});
	await client.request('run/status', {});
	await sharedLimit.allow(Number.POSITIVE_INFINITY);
	try {
		for (;;) {
			await pausing;
			await client.request('policy/generate', { prompts: ['1+2='], n: 4 });
			await client.request('run/checkpoint', {});
			await client.request('run/continue', {});
			if (++disturbed === 4) break;
			pausing = client.request('run/pause', {});
		}
	} catch (error) {
		// The run may have ended in the meantime.
		assert.ok(error instanceof Failure, String(error));
	}
	client.dispose();
	const { code, stderr } = await engine.exit;
	assert.equal(code, 0, stderr);
	assert.ok(disturbed > 0);
	const outcome = await readOutcome(run);
	assert.deepEqual(outcome.metrics, expected.metrics);
	assert.deepEqual(outcome.rollouts, expected.rollouts);
	assert.equal(outcome.weights, expected.weights);
});

test('a hyperparameter change is replayed at its step when the run is killed and resumed', async () => {
	await using place = await Workplace.make();
	const limit = await StepLimit.write(place.folder);
	const run = await place.prepare({
		...longRecipe,
		rewards: [{ use: 'accuracy' }, limit.reward],
		scoring: StepLimit.scoring,
		stages: [{ ...longRecipe.stages[0], steps: 12 }],
		evaluate: { every: 6, problems: 4 },
		checkpoint: { every: 4 },
	});
	await limit.allow(5);
	const engine = place.start('--run', run);
	await limit.reached(5);
	const client = await connect(run);
	const pausing = client.request('run/pause', {});
	// Once this is answered, the engine has received the pause, which takes effect after the step.
	await client.request('run/status', {});
	await limit.allow(6);
	assert.equal((await pausing).step, 6);
	const { fromStep } = await client.request('run/setHyperparameters', { learning_rate: 2e-3, epsilon: 0.1 });
	assert.equal(fromStep, 7);
	client.dispose();
	await limit.allow(Number.POSITIVE_INFINITY);
	engine.kill('SIGKILL');
	await engine.exit;
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	const rates = (await readMetrics(run)).filter(({ step }) => step > 0);
	assert.equal(rates.length, 12);
	for (const { step, values } of rates)
		assert.equal(values.learning_rate, step < fromStep ? 1e-3 : 2e-3, `step ${step}`);
	const first = await readOutcome(run);
	// Restart from step 0: now only the event records the change.
	await rm(join(run, 'checkpoints'), { recursive: true });
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	assert.deepEqual((await readOutcome(run)).metrics, first.metrics);
});

test('SIGTERM finishes the batch, writes a checkpoint and sets status stopped; the run then resumes to the same end', async () => {
	await using place = await Workplace.make();
	const { outcome: expected } = finished;
	const run = await place.prepare(keeping);
	await sharedLimit.allow(32);
	const engine = place.start('--run', run);
	await sharedLimit.reached(32);
	engine.kill('SIGTERM');
	// The batch that waits can be scored, and no later one.
	await sharedLimit.allow(33);
	assert.equal((await engine.exit).code, 0);
	await sharedLimit.allow(Number.POSITIVE_INFINITY);
	const record = await readRecord(run);
	assert.equal(record.status, 'stopped');
	assert.ok(record.step < 50);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, record.step);
	assert.equal((await runHere(place, run, { resume: true })).code, 0);
	assert.deepEqual((await readOutcome(run)).metrics, expected.metrics);
	assert.equal((await readRecord(run)).attempt, 2);
});

test('a second SIGTERM ends the engine immediately', async () => {
	await using place = await Workplace.make();
	const slow = { ...longRecipe, stages: [{ ...longRecipe.stages[0], prompts_per_step: 2000 }] };
	const run = await place.prepare(slow);
	const engine = place.start('--run', run);
	await eventually(async () => (await readRecord(run).catch(() => null))?.status === 'running', 'the run starts');
	await new Promise((resolve) => setTimeout(resolve, 200));
	engine.kill('SIGTERM');
	// On a busy machine, signals that follow each other closely arrive as one.
	const again = setInterval(() => engine.kill('SIGTERM'), 20);
	const { signal } = await engine.exit.finally(() => clearInterval(again));
	assert.equal(signal, 'SIGTERM');
	assert.equal(await effectiveStatus(await readRecord(run)), 'crashed');
});

test('--serve answers policy requests with the weights of a checkpoint and rejects everything else', async () => {
	await using place = await Workplace.make();
	const checkpoint = (await listCheckpoints(finished.run)).at(-1);
	assert.ok(checkpoint);
	const engine = place.start('--serve', checkpoint.path);
	const line = JSON.parse(await engine.firstLine) as { step: number };
	assert.equal(line.step, checkpoint.step);
	const client = await connectServed(checkpoint.path, 'test');
	assert.equal(client.engine.serving, true);
	// A second server would take over the endpoint of the first.
	const second = await place.run('--serve', checkpoint.path);
	assert.equal(second.code, 2);
	assert.match(second.stderr, new RegExp(`in use by process ${engine.process.pid}`));
	const { completions } = await client.request('policy/generate', { prompts: ['1+2='], n: 2, stop: ['</answer>'] });
	for (const { text } of completions[0] ?? []) assert.ok(!text.includes('</answer>'));
	await assert.rejects(client.request('run/pause', {}), { reason: 'unsupported' });
	client.dispose();
	engine.kill('SIGTERM');
	assert.equal((await engine.exit).code, 0);
	const next = place.start('--serve', checkpoint.path);
	assert.equal((JSON.parse(await next.firstLine) as { step: number }).step, checkpoint.step);
});

test('two runs queued for a device train one after the other', {
	skip: process.platform !== 'linux',
}, async () => {
	await using place = await Workplace.make();
	// Use a private queue so that other runs on this machine do not interfere.
	place.environment.XDG_RUNTIME_DIR = place.folder;
	const queued = { ...longRecipe, whenBusy: 'queue' };
	const [a, b] = [await place.prepare(queued, 'a'), await place.prepare({ ...shortRecipe, whenBusy: 'queue' }, 'b')];
	const first = place.start('--run', a);
	await eventually(async () => (await readMetrics(a)).length > 0, 'the first run trains');
	const second = place.start('--run', b);
	const waiting = await eventually(async () => {
		const record = await readRecord(b).catch(() => null);
		return record?.device.startsWith('waiting') ? record : null;
	}, 'the second run waits');
	assert.match(waiting.device, new RegExp(`waiting for cpu \\(process ${first.process.pid}\\)`));
	const before = (await readMetrics(a)).length;
	await eventually(async () => (await readMetrics(a)).length > before, 'the first run continues');
	assert.deepEqual(await readMetrics(b), []);
	first.kill('SIGTERM');
	assert.equal((await first.exit).code, 0);
	assert.equal((await second.exit).code, 0);
	assert.equal((await readMetrics(b)).length, 12);
	assert.equal((await readRecord(b)).device, 'cpu (1 worker)');
});

test('a run waiting for a device can be stopped', { skip: process.platform !== 'linux' }, async () => {
	await using place = await Workplace.make();
	place.environment.XDG_RUNTIME_DIR = place.folder;
	const queued = { ...longRecipe, whenBusy: 'queue' };
	const [a, b] = [await place.prepare(queued, 'a'), await place.prepare(queued, 'b')];
	place.start('--run', a);
	await eventually(async () => (await readMetrics(a)).length > 0, 'the first run trains');
	const second = place.start('--run', b);
	await eventually(
		async () => (await readRecord(b).catch(() => null))?.device.startsWith('waiting'),
		'the second run waits',
	);
	second.kill('SIGTERM');
	assert.equal((await second.exit).code, 0);
	assert.equal((await readRecord(b)).status, 'stopped');
});
