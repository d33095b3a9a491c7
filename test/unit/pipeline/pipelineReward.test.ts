import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics, readRollouts } from '../../../src/runs/runReader.ts';
import { PipelinePlace, stageOf, states } from './pipelinePlace.ts';

/** Preference pairs: the answer with the digit 7 is better, whatever the prompt. */
const pairs = Array.from({ length: 160 }, (_, i) => {
	const [a, b] = [i % 10, Math.floor(i / 10) % 10];
	const chosen = ['7', `7${a}`, `${b}7`, '77'][i % 4];
	return { prompt: `${a}+${b}=`, chosen, rejected: ['1', `2${b}`, `${a}4`, '38'][i % 4]?.replaceAll('7', '5') };
});
const mean = (list: readonly number[]) => list.reduce((sum, x) => sum + x, 0) / list.length;

test('a reward model trained in one stage is the reward for the next one', async (context) => {
	const place = await PipelinePlace.make(context);
	await writeFile(join(place.folder, 'pairs.jsonl'), pairs.map((pair) => JSON.stringify(pair)).join('\n'));
	const sampled = { num_generations: 4, prompts_per_step: 8, max_completion_length: 4, learning_rate: 1e-2 };
	const { folder, record } = await place.runHere(
		[
			{ name: 'cold', type: 'sft', steps: 4, learning_rate: 1e-2, batch_size: 16 },
			{
				name: 'judge',
				type: 'reward-model',
				from: 'cold',
				pairs: { path: 'pairs.jsonl' },
				steps: 40,
				learning_rate: 1e-2,
				batch_size: 16,
			},
			{
				name: 'rl',
				type: 'ppo',
				from: 'cold',
				rewards: [{ use: 'reward-model', stage: 'judge', activation: 'sigmoid' }],
				steps: 28,
				critic_learning_rate: 2e-2,
				...sampled,
			},
		],
		{ template: 'plain', rewards: [{ use: 'accuracy' }], model: { layers: 1, width: 16, heads: 2, context: 24 } },
	);
	assert.deepEqual(states(record), ['cold finished', 'judge finished', 'rl finished'], record.error?.message);
	assert.deepEqual(stageOf(record, 'rl').after, ['cold', 'judge']);
	const run = join(folder, 'rl');
	const lines = (await readMetrics(run)).filter(({ values }) => values.reward != null);
	const rewards = lines.map(({ values }) => values.reward as number);
	const [before, after] = [mean(rewards.slice(0, 3)), mean(rewards.slice(-3))];
	assert.ok(after > before + 0.2, `${before} to ${after}`);
	const rows = await readRollouts(run, lines.at(-1)?.step ?? 0);
	const sevens = rows.filter(({ completion }) => String(completion).includes('7')).length;
	assert.ok(sevens / rows.length > 0.6, `${sevens} of ${rows.length}`);
});
