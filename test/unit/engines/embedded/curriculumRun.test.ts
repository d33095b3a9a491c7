import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { readMetrics, readRollouts } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkKillResume, type KillReport, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const place = await Workplace.make();
after(() => place[Symbol.asyncDispose]());

const sft = { type: 'sft', steps: 20, learning_rate: 1e-2, batch_size: 16 };
const grpo = { type: 'grpo', steps: 6, num_generations: 4, prompts_per_step: 4, learning_rate: 2e-3 };
const recipe = (...stages: readonly object[]) => ({
	...tinyRecipe,
	workers: 2,
	// Rewards differ within most groups, so pass rates are fractions.
	rewards: [{ use: 'length-target', target: 3, range: 10 }],
	stages: [sft, ...stages],
	checkpoint: { every: 2, keep: 3 },
});

test('pass rates survive kills, including those of batches sampled ahead, with any number of workers', async (t) => {
	const curriculum = { problems: 12, target: 0.3 };
	const stages = [
		{ ...grpo, steps: 8, curriculum, max_staleness: 2, dynamic_sampling: true },
		{ ...grpo, type: 'rloo', steps: 3, curriculum: { sampling: 'range', problems: 8 } },
		{ ...grpo, steps: 2 },
	];
	const whole = await uninterrupted(place, { ...recipe(...stages), workers: 1 });
	const lines = (await readMetrics(whole.run)).filter(({ stage }) => stage !== 'sft');
	assert.deepEqual(
		lines.map(({ values }) => values['curriculum/new'] !== undefined),
		[...new Array<boolean>(11).fill(true), false, false],
	);
	// Although batches are sampled ahead, the second one is chosen using the results of the first.
	const fresh = lines.map(({ values }) => values['curriculum/new']);
	assert.equal(fresh[0], 1);
	assert.ok((fresh[1] as number) < 1, fresh.join(' '));
	const prompts = new Set<string>();
	for (const { step } of lines.slice(0, 8)) {
		for (const { prompt } of await readRollouts(whole.run, step)) prompts.add(String(prompt));
	}
	assert.ok(prompts.size <= 12, `${prompts.size} problems`);
	const onKill = ({ kills }: KillReport) => t.diagnostic(`killed after ${kills.join(', ')} ms`);
	await checkKillResume(place, recipe(...stages), { kills: 2, seed: 5, whole, onKill });
});

test('the second stage draws from problems that the first has not read', async () => {
	const curriculum = { problems: 6, sampling: 'uniform' };
	const { run } = await uninterrupted(place, recipe({ ...grpo, curriculum }, { ...grpo, curriculum }), true);
	const prompts = [new Set<string>(), new Set<string>()];
	for (const { step, stage } of await readMetrics(run)) {
		if (stage !== 'grpo') continue;
		for (const { prompt } of await readRollouts(run, step)) prompts[step <= 26 ? 0 : 1]?.add(String(prompt));
	}
	assert.deepEqual(
		prompts.map((seen) => seen.size),
		[6, 6],
	);
	assert.equal(new Set(prompts.flatMap((seen) => [...seen])).size, 12);
});

test('a curriculum with fewer problems than a batch is rejected', async () => {
	const run = await place.prepare(recipe({ ...grpo, curriculum: { problems: 3 } }));
	const { code, stderr } = await runHere(place, run);
	assert.notEqual(code, 0);
	assert.match(stderr, /The curriculum of "grpo" has 3 problems, fewer than "prompts_per_step" \(4\)/);
});
