import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { listCheckpoints, readMetrics } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { runHere } from './runHere.ts';

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());

const grpo = {
	...{ type: 'grpo', steps: 4, num_generations: 4, prompts_per_step: 4, num_iterations: 2, steps_per_generation: 2 },
	...{ learning_rate: 2e-3, max_completion_length: 8 },
};
const clipped = ['clip_ratio/high_max', 'clip_ratio/high_mean', 'clip_ratio/low_mean', 'clip_ratio/low_min'];
const corrected = ['max', 'mean', 'min'].map((part) => `sampling/importance_sampling_ratio/${part}`);
const objectives: readonly [settings: object, metrics: readonly string[]][] = [
	[{ advantage_estimator: 'pass_at_k', pass_k: 2 }, clipped],
	[{ advantage_estimator: 'maxrl' }, clipped],
	[{ multi_objective_aggregation: 'normalize_then_sum' }, clipped],
	[{ loss_type: 'cispo', epsilon_high: 1.02 }, ['cispo_clip_ratio']],
	[{ loss_type: 'sapo', sapo_temperature_neg: 3 }, []],
	[{ loss_type: 'vespo' }, ['vespo/phi_seq_mean']],
	[{ loss_type: 'gmpo', epsilon: 0.01, beta: 0.02 }, clipped],
	[{ loss_type: 'dppo_tv', epsilon: 0.01 }, clipped],
	[{ loss_type: 'dppo_kl', epsilon: 0.001 }, clipped],
	[{ loss_type: 'luspo', importance_sampling_level: 'sequence' }, clipped],
	[{ loss_type: 'grpo', importance_sampling_level: 'sequence', epsilon: 0.001 }, clipped],
	[{ top_entropy_quantile: 0.3, beta: 0.02 }, [...clipped, 'tokens/selected']],
	[{ clip_cov_ratio: 0.2, clip_cov_lb: 0 }, [...clipped, 'tokens/selected']],
	[{ kl_cov_ratio: 0.1 }, clipped],
	[{ entropy_coef: 0.01, top_entropy_quantile: 0.5 }, [...clipped, 'tokens/selected']],
	[
		{ max_staleness: 4, vllm_importance_sampling_mode: 'token_truncate', loss_type: 'bnpo' },
		[...clipped, ...corrected],
	],
	[{ max_staleness: 9, loss_type: 'gmpo', off_policy_mask_threshold: 0.1 }, [...clipped, ...corrected]],
	[
		{ vllm_importance_sampling_correction: true, loss_type: 'vespo', vllm_importance_sampling_mode: 'token_mask' },
		['vespo/phi_seq_mean'],
	],
	[{ delta: 1.01, off_policy_mask_threshold: 0, use_bias_correction_kl: true, beta: 0.02 }, clipped],
];

test('a run trains with every objective, and its metrics show what the objective did', async () => {
	const seldom = {
		evaluate: { every: 1000, problems: 4 },
		checkpoint: { every: 1000 },
		// A range beyond the longest completion, so that rewards differ in most groups.
		rewards: [{ use: 'length-target', target: 3, range: 10 }],
	};
	const stages = [tinyRecipe.stages[0], ...objectives.map(([settings]) => ({ ...grpo, ...settings }))];
	const run = await place.prepare({ ...tinyRecipe, ...seldom, stages });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	assert.equal((await listCheckpoints(run)).at(-1)?.step, 30 + 4 * objectives.length);
	const rows = (await readMetrics(run)).filter(({ stage }) => stage === 'grpo');
	assert.equal(rows.length, 4 * objectives.length);
	for (const [i, [settings, metrics]] of objectives.entries()) {
		const own = rows.slice(4 * i, 4 * i + 4).map(({ values }) => values);
		const names = Object.keys(own[0] ?? {}).filter(
			(name) => /clip_ratio|vespo|tokens\/selected|importance/.test(name) && name !== 'clip_ratio/region_mean',
		);
		assert.deepEqual(names.sort(), [...metrics].sort(), JSON.stringify(settings));
		for (const values of own) {
			assert.ok(Number.isFinite(values.loss) && Number.isFinite(values.entropy), JSON.stringify(values));
			// Ratios to the sampler belong to a whole batch, so they are recorded with its first update.
			const expected = metrics.filter((name) => values === own[0] || !corrected.includes(name));
			for (const name of expected) assert.ok(typeof values[name] === 'number', `${name} ${JSON.stringify(settings)}`);
		}
		assert.ok(
			own.some(({ grad_norm }) => Number(grad_norm) > 0),
			JSON.stringify(settings),
		);
	}
});
