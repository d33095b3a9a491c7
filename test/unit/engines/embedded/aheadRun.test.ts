import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { stalenessOf, weightsOf } from '../../../../src/core/trace/weightVersions.ts';
import { readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkKillResume, type KillReport, uninterrupted } from './killResume.ts';

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());

const sft = { type: 'sft', steps: 20, learning_rate: 1e-2, batch_size: 16 };
const grpo = { type: 'grpo', steps: 9, num_generations: 4, prompts_per_step: 4, learning_rate: 2e-3 };
const recipe = (...stages: readonly object[]) => ({
	...tinyRecipe,
	workers: 2,
	// Rewards differ within most groups.
	rewards: [{ use: 'length-target', target: 3, range: 10 }],
	stages: [sft, ...stages],
	checkpoint: { every: 2, keep: 3 },
});

test('max_staleness 0 turns off sampling ahead, and the results are the same as with the defaults', async () => {
	const plain = await uninterrupted(place, recipe(grpo), true);
	const keys = { max_staleness: 0, vllm_importance_sampling_correction: false };
	const zero = await uninterrupted(place, recipe({ ...grpo, ...keys }), true);
	assert.deepEqual(zero.outcome, plain.outcome);
});

test('batches are sampled up to max_staleness updates ahead, with any number of workers and however often the run is killed', async (t) => {
	const stage = { ...grpo, steps: 11, steps_per_generation: 2, dynamic_sampling: true, beta: 0.02 };
	const ahead = recipe({ ...stage, max_staleness: 5 }, { ...grpo, steps: 4, max_staleness: 3 });
	const whole = await uninterrupted(place, { ...ahead, workers: 1 });
	const lines = (await readMetrics(whole.run)).filter(({ stage: type }) => type === 'grpo');
	const staleness = lines.flatMap(({ step, values }) => {
		const value = values['sample/staleness_max'];
		return value === undefined ? [] : [[step, value]];
	});
	// The first stage samples up to two batches of two updates ahead; the second, three batches of one update.
	const first = [21, 23, 25, 27, 29, 31].map((step, i) => [step, Math.min(2 * i, 4)]);
	assert.deepEqual(staleness, [...first, [32, 0], [33, 1], [34, 2], [35, 3]]);
	for (const [step, value] of staleness) {
		const rollouts = await readRollouts(whole.run, step as number);
		const versions = new Set(rollouts.flatMap(({ tokens }) => tokens?.version ?? []));
		assert.deepEqual([...versions], [(step as number) - 1 - (value as number)]);
		const ages = rollouts.map((line) => stalenessOf(weightsOf(line) ?? assert.fail('versions are recorded')));
		assert.deepEqual([...new Set(ages)], [value]);
	}
	const ratios = lines.map(({ values }) => values['sampling/importance_sampling_ratio/max']);
	assert.ok(ratios.some((ratio) => typeof ratio === 'number' && Math.abs(ratio - 1) > 1e-3));
	const onKill = ({ kills }: KillReport) => t.diagnostic(`killed after ${kills.join(', ')} ms`);
	await checkKillResume(place, ahead, { kills: 2, seed: 3, whole, onKill });
});
