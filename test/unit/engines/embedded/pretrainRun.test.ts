import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const animals = ['cat', 'dog', 'cow', 'owl', 'fox'];
const deeds = ['sits', 'runs', 'sleeps', 'eats'];
const texts = animals.flatMap((one) =>
	deeds.flatMap((deed) => animals.map((other) => `the ${one} ${deed} by the ${other}.`)),
);

const stage = { type: 'pretrain', steps: 24, learning_rate: 1e-2, batch_size: 12, corpus: { path: 'texts.txt' } };

async function withTexts(place: Workplace): Promise<void> {
	await writeFile(join(place.folder, 'texts.txt'), texts.join('\n'));
}

test('a base model learns from texts and worked solutions, and a resumed run ends as if uninterrupted', async () => {
	await using place = await Workplace.make();
	await withTexts(place);
	const recipe = {
		...tinyRecipe,
		workers: 2,
		stages: [
			{ ...stage, workedShare: 0.25 },
			{ type: 'grpo', steps: 2, num_generations: 2, prompts_per_step: 2, learning_rate: 1e-3 },
		],
		evaluate: { every: 8, problems: 8 },
		checkpoint: { every: 8, keep: 100 },
	};
	const whole = await uninterrupted(place, recipe, true);
	await checkResume(place, whole, 16);
	const { run } = whole;
	const lines = await readMetrics(run);
	const losses = lines.filter(({ stage: name }) => name === 'pretrain').map(({ values }) => values.loss as number);
	assert.equal(losses.length, 24);
	assert.ok((losses.at(-1) as number) < (losses[0] as number) - 1, losses.join(' '));
	const measured = lines.filter(({ values }) => values['eval/text/perplexity'] !== undefined);
	assert.deepEqual(
		measured.map(({ step }) => step),
		[8, 16, 24],
	);
	for (const { values } of measured) {
		assert.ok(values['eval/heldout/accuracy'] !== undefined);
		assert.ok(
			Math.abs(Math.log(values['eval/text/perplexity'] as number) - (values['eval/text/loss'] as number)) < 1e-9,
		);
	}
	assert.ok((measured.at(-1)?.values['eval/text/perplexity'] as number) < 10);
});

test('worked solutions alone are enough, and a run on a dataset without text reports what is missing', async () => {
	await using place = await Workplace.make();
	await withTexts(place);
	const { corpus, ...bare } = stage;
	const alone = await place.prepare({ ...tinyRecipe, stages: [{ ...bare, steps: 3, workedShare: 1 }] });
	const { code, stderr } = await runHere(place, alone);
	assert.equal(code, 0, stderr);
	const lines = await readMetrics(alone);
	assert.ok(lines.every(({ values }) => values['eval/text/loss'] === undefined));
	await assert.rejects(place.prepare({ ...tinyRecipe, stages: [bare] }), /"addition" has no plain text.*"corpus"/);
	await writeFile(
		join(place.folder, 'rows.jsonl'),
		Array.from({ length: 50 }, (_, i) => JSON.stringify({ prompt: `${i}+1=`, answer: i + 1 })).join('\n'),
	);
	const unworked = await place.prepare({ ...tinyRecipe, dataset: { path: 'rows.jsonl' }, stages: [stage] });
	assert.equal((await runHere(place, unworked)).code, 2);
	assert.match((await readRecord(unworked)).error?.message ?? '', /has no worked solutions for the pretrain stage/);
	const without = { ...stage, steps: 2, workedShare: 0, corpus };
	const run = await place.prepare({ ...tinyRecipe, dataset: { path: 'rows.jsonl' }, stages: [without] });
	const outcome = await runHere(place, run);
	assert.equal(outcome.code, 0, outcome.stderr);
});
