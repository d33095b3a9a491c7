import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { connectRun } from '../../src/runs/runControl.ts';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { hardware, skip } from '../support/softwareGpu.ts';
import { shortRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { uninterrupted } from '../unit/engines/embedded/killResume.ts';
import { readOutcome } from '../unit/engines/embedded/runOutcome.ts';

/** Complete runs of the engine on the software GPU. */

const recipe = {
	...shortRecipe,
	device: 'webgpu',
	stages: shortRecipe.stages.map((stage) =>
		stage.type === 'grpo' ? { ...stage, steps: 3, beta: 0.02 } : { ...stage, steps: 2 },
	),
	evaluate: { every: 100, problems: 4 },
};

describe('a run on WebGPU', { skip }, async () => {
	const place = await Workplace.make();
	after(() => place[Symbol.asyncDispose]());
	const whole = await uninterrupted(place, recipe);

	test('computes on the device, and counts transfers and dispatches', async () => {
		const record = await readRecord(whole.run);
		const event = (await readEvents(whole.run)).find(({ type }) => type === 'device');
		assert.deepEqual([event?.took, event?.asked, event?.tried], ['webgpu', 'webgpu', []]);
		assert.match(event?.adapter as string, hardware ? /./ : /^SwiftShader Device \(.+\)$/);
		assert.deepEqual([record.status, record.device], ['finished', `webgpu on ${event?.adapter}`]);
		for (const { values } of await readMetrics(whole.run)) {
			for (const name of ['gpu/bytes_up', 'gpu/bytes_down', 'gpu/dispatches']) {
				assert.ok((values[name] as number) > 0, name);
			}
		}
	});

	test('matches the metrics of the CPU to within 0.1% where the batches are the same', async () => {
		const cpu = await uninterrupted(place, { ...recipe, device: 'cpu' });
		const [expected, actual] = [await readMetrics(cpu.run), await readMetrics(whole.run)];
		assert.equal(actual.length, expected.length);
		// Later batches can contain different tokens if a random number is very close to a cumulative probability.
		const firstBatch = expected.findIndex(({ stage }) => stage === 'grpo');
		for (const [i, { stage, values }] of expected.slice(0, firstBatch + 1).entries()) {
			for (const name of stage === 'sft' ? ['loss', 'grad_norm', 'entropy'] : ['entropy']) {
				const [x, y] = [values[name], actual[i]?.values[name]];
				if (x === undefined && y === undefined) continue;
				assert.ok(Math.abs(Number(x) - Number(y)) <= 1e-3 * Math.abs(Number(x)), `${stage} ${i} ${name}: ${x}, ${y}`);
			}
		}
	});

	test('reproduces the uninterrupted run after a pause, a checkpoint, a kill and a resume', async () => {
		const run = await place.prepare(recipe);
		const engine = place.start('--run', run);
		// Takes minutes on a busy machine, because a software GPU compiles shaders slowly.
		for (let rows = 0; rows <= 2; rows = (await readMetrics(run).catch(() => [])).length) await setTimeout(50);
		const client = await connectRun(run, await readRecord(run), 'test');
		const paused = await client.request('run/pause', {});
		assert.equal(paused.status, 'paused');
		await client.request('run/checkpoint', {});
		assert.equal((await listCheckpoints(run)).at(-1)?.step, paused.step);
		engine.kill('SIGKILL');
		await engine.exit;
		const { code, stderr } = await place.run('--run', run, '--resume');
		assert.equal(code, 0, stderr);
		const outcome = await readOutcome(run);
		const { metrics, rollouts, weights, optimizer } = whole.outcome;
		assert.deepEqual(outcome.metrics, metrics);
		assert.deepEqual(outcome.rollouts, rollouts);
		assert.deepEqual([outcome.weights, outcome.optimizer], [weights, optimizer]);
	});
});
