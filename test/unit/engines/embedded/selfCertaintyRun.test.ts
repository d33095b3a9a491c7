import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { uninterrupted } from './killResume.ts';

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());

test('self-certainty and verdicts are recorded for every completion, and do not change the samples', async () => {
	const sft = { type: 'sft', steps: 20, learning_rate: 1e-2, batch_size: 16 };
	const grpo = { type: 'grpo', steps: 2, num_generations: 4, prompts_per_step: 4, learning_rate: 2e-3 };
	const recipe = (...rewards: readonly object[]) => ({ ...tinyRecipe, rewards, stages: [sft, grpo] });
	const certain = { use: 'certainty' };
	const judge = { use: 'self-judge', prompt: '{problem}{response}=', votes: 2, weight: 0 };
	const measured = await uninterrupted(
		place,
		recipe({ use: 'self-certainty' }, { ...certain, weight: 0 }, judge),
		true,
	);
	const alone = await uninterrupted(place, recipe(certain), true);
	const [mine, others] = await Promise.all([measured.run, alone.run].map((run) => readRollouts(run, 21)));
	assert.deepEqual(
		mine?.map(({ completion }) => completion),
		others?.map(({ completion }) => completion),
	);
	const values = mine?.map(({ rewards }) => rewards['self-certainty']) ?? [];
	assert.equal(values.length, 16);
	assert.ok(new Set(values).size > 8, values.join(' '));
	for (const value of values) assert.ok(typeof value === 'number' && value > 0, String(value));
	assert.deepEqual(
		mine?.map(({ reward }) => reward),
		values,
	);
	for (const { rewards } of mine ?? []) assert.ok([0, 0.5, 1].includes(rewards['self-judge'] as number));
});
