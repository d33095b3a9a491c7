import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../src/runs/runReader.ts';
import { skip } from '../support/softwareGpu.ts';
import { shortRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { uninterrupted } from '../unit/engines/embedded/killResume.ts';
import { readOutcome } from '../unit/engines/embedded/runOutcome.ts';

/** Whole runs of the engine on the GPU in software. */

const recipe = {
	...shortRecipe,
	device: 'webgpu',
	stages: shortRecipe.stages.map((stage) => (stage.type === 'grpo' ? { ...stage, beta: 0.02 } : stage)),
};

describe('a run on WebGPU', { skip }, async () => {
	const place = await Workplace.make();
	after(() => place[Symbol.asyncDispose]());
	const whole = await uninterrupted(place, recipe);

	test('computes there, and counts what crosses', async () => {
		const record = await readRecord(whole.run);
		assert.deepEqual([record.status, record.device], ['finished', 'webgpu']);
		const event = (await readEvents(whole.run)).find(({ type }) => type === 'device');
		assert.deepEqual([event?.took, event?.asked, event?.tried], ['webgpu', 'webgpu', []]);
		for (const { values } of await readMetrics(whole.run)) {
			for (const name of ['gpu/bytes_up', 'gpu/bytes_down', 'gpu/dispatches']) {
				assert.ok((values[name] as number) > 0, name);
			}
		}
	});

	test('has the metrics of the CPU within a thousandth where the batches are the same', async () => {
		const cpu = await uninterrupted(place, { ...recipe, device: 'cpu' });
		const [expected, actual] = [await readMetrics(cpu.run), await readMetrics(whole.run)];
		assert.equal(actual.length, expected.length);
		for (const [i, { stage, values }] of expected.entries()) {
			for (const name of stage === 'sft' ? ['loss', 'grad_norm', 'entropy'] : ['entropy']) {
				const [x, y] = [values[name], actual[i]?.values[name]];
				if (x === undefined && y === undefined) continue;
				assert.ok(Math.abs(Number(x) - Number(y)) <= 1e-3 * Math.abs(Number(x)), `${stage} ${i} ${name}: ${x}, ${y}`);
			}
		}
	});

	test('is not chosen by auto, which measures: the CPU is faster than a GPU in software', async () => {
		const { run } = await uninterrupted(place, { ...recipe, device: 'auto' });
		const event = (await readEvents(run)).find(({ type }) => type === 'device');
		assert.equal(event?.took, 'cpu');
		const tried = event?.tried as { provider: string; error: string }[];
		const reason = tried.find(({ provider }) => provider === 'webgpu')?.error ?? '';
		assert.match(reason, /^(the CPU is faster|it is too slow) for this model \(.*sampling \d+ ms and update \d+ ms/);
		assert.ok(Array.isArray(event?.measured) && event.measured.length > 0);
	});

	test('continues after a kill with the numbers of the uninterrupted run', async () => {
		const run = await place.prepare(recipe);
		const engine = place.start('--run', run);
		const timer = setInterval(async () => {
			if ((await listCheckpoints(run).catch(() => [])).length > 1) engine.kill('SIGKILL');
		}, 20);
		await engine.exit;
		clearInterval(timer);
		const { code, stderr } = await place.run('--run', run, '--resume');
		assert.equal(code, 0, stderr);
		const outcome = await readOutcome(run);
		const { metrics, rollouts, weights, optimizer } = whole.outcome;
		assert.deepEqual(outcome.metrics, metrics);
		assert.deepEqual(outcome.rollouts, rollouts);
		assert.deepEqual([outcome.weights, outcome.optimizer], [weights, optimizer]);
	});
});
