/**
 * Checks that a run killed at random moments and resumed ends like an uninterrupted run: a longer run twenty times, and
 * a small run of each stage type three times.
 */
import { test } from 'node:test';
import { Random } from '../../src/base/random.ts';
import { listCheckpoints } from '../../src/runs/runReader.ts';
import { embeddedRecipes } from '../faults/recipes.ts';
import { tinyRecipe, Workplace } from '../unit/engines/embedded/engineProcess.ts';
import { checkKillResume, type KillReport, uninterrupted } from '../unit/engines/embedded/killResume.ts';
import { writeFiles } from '../unit/engines/embedded/rewardRuns.ts';

/** About ten seconds long, so that random moments hit both stages, evaluations and checkpoints. */
const recipe = {
	...tinyRecipe,
	model: { layers: 2, width: 48, heads: 2 },
	stages: [
		{ type: 'sft', steps: 150, learning_rate: 3e-3, batch_size: 32 },
		{ type: 'grpo', steps: 120, num_generations: 8, prompts_per_step: 8, learning_rate: 1e-3 },
	],
	checkpoint: { every: 15, keep: 2 },
};
const onKill = ({ kills }: KillReport) => console.error(`killed after ${kills.join(' and ')} ms`);

test('twenty kills at random moments do not change metrics, rollouts, evaluations or weights', async () => {
	await using place = await Workplace.make();
	await checkKillResume(place, recipe, { moments: 20, kills: 2, seed: 20, onKill });
});

for (const [name, choose] of Object.entries(embeddedRecipes)) {
	test(`kills at random moments do not change the results of ${name}`, async () => {
		await using place = await Workplace.make();
		const { recipe, files } = choose(Random.of(20, name));
		await writeFiles(place, files);
		const often = { ...recipe, seed: 7, workers: 2, checkpoint: { every: 3, keep: 2 } };
		await checkKillResume(place, often, { moments: 3, kills: 2, seed: 20, onKill });
	});
}

test('kills at random moments do not change a student that learns from the logits of a teacher', async () => {
	await using place = await Workplace.make();
	const taught = { ...tinyRecipe, model: { ...tinyRecipe.model, context: 32 }, stages: tinyRecipe.stages.slice(0, 1) };
	const { run } = await uninterrupted(place, taught, true);
	const teacher = { path: (await listCheckpoints(run)).at(-1)?.path as string };
	const stage = { type: 'distill', steps: 16, learning_rate: 1e-2, batch_size: 8, teacher, max_completion_length: 16 };
	const student = {
		...taught,
		workers: 2,
		stages: [
			{ ...stage, temperature: 2 },
			{ ...stage, steps: 8, on_policy: true, alpha: 0.1 },
		],
		checkpoint: { every: 3, keep: 2 },
	};
	await checkKillResume(place, student, { moments: 3, kills: 2, seed: 20, onKill });
});
