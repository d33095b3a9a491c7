import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readEvaluationLines, readEvents, readMetrics } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';

test('written steps become latent thoughts stage by stage, evaluations use the same number of thoughts, and a resume changes nothing', async () => {
	await using place = await Workplace.make();
	const latent = { stages: 2, steps_per_stage: 4, thoughts_per_step: 2 };
	const recipe = {
		...tinyRecipe,
		workers: 2,
		dataset: { task: 'graph-path', terms: 2, nodes: 6 },
		stages: [{ type: 'sft', steps: 14, learning_rate: 1e-2, batch_size: 12, latent }],
		evaluate: { every: 4, problems: 6 },
		checkpoint: { every: 3, keep: 100 },
	};
	const whole = await uninterrupted(place, recipe, true);
	const metrics = await readMetrics(whole.run);
	assert.deepEqual(
		metrics.map(({ values }) => [values['latent/stage'], values['latent/thoughts']]),
		[...new Array(4).fill([0, 0]), ...new Array(4).fill([1, 2]), ...new Array(6).fill([2, 4])],
	);
	for (const [step, thoughts] of [
		[4, 0],
		[8, 2],
		[12, 4],
		[14, 4],
	] as const) {
		const lines = await readEvaluationLines(whole.run, step, 'heldout');
		assert.equal(lines.length, 6);
		for (const { prompt, extra } of lines) {
			const own = extra?.thoughts as { top: { text: string; logprob: number }[] }[];
			assert.equal(own.length, thoughts);
			for (const { top } of own) {
				assert.equal(top.length, 5);
				assert.ok(top.every(({ logprob }, i) => i === 0 || logprob <= (top[i - 1]?.logprob as number)));
			}
			assert.doesNotMatch(String(prompt), /<bot>|<latent>|<eot>/);
		}
	}
	assert.deepEqual(
		(await readEvents(whole.run)).filter(({ type }) => type === 'alert'),
		[],
	);
	// Step 6 is within the first stage with thoughts.
	await checkResume(place, whole, 6);
});
