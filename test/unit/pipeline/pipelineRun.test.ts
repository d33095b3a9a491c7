import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeResolvedRecipe } from '../../../src/core/recipe/resolve.ts';
import { viewPipeline } from '../../../src/runs/pipeline/pipelineView.ts';
import { readResolvedRecipe } from '../../../src/runs/runReader.ts';
import { cold, made, PipelinePlace, rl, stageOf, states } from './pipelinePlace.ts';

test('stages run in order, each as a separate run that uses the outputs of earlier stages', async (context) => {
	const place = await PipelinePlace.make(context);
	const { folder, record } = await place.runHere([
		{
			name: 'head',
			type: 'value-model',
			from: 'cold',
			labels: { stage: 'solve', heldOutShare: 0.5 },
			steps: 2,
			learning_rate: 1e-3,
			batch_size: 2,
		},
		{ name: 'measure', type: 'evaluate', from: 'cold', problems: 4, samples: 2, judge: 'gold:accuracy' },
		{
			name: 'solve',
			type: 'search',
			from: { stage: 'cold', checkpoint: 'best' },
			problems: 6,
			keep: 'all',
			params: { n: 2 },
			export: ['completions', 'labels'],
			completions: 2,
		},
		{ ...rl, name: 'skipped', skipIf: { stage: 'measure', heldOutAccuracy: 0 } },
		cold,
	]);
	assert.deepEqual(states(record), [
		'cold finished',
		'measure finished',
		'solve finished',
		'head finished',
		'skipped skipped',
	]);
	assert.equal(record.status, 'finished');
	assert.match(
		stageOf(record, 'skipped').skipped ?? '',
		/held-out accuracy of measure is \d\.\d+, which is at least 0/,
	);

	// Every stage records what it used; policies without a price have no known cost.
	const { stages } = await viewPipeline(folder);
	const used = new Map(stages.map(({ name, ...view }) => [name, view]));
	for (const name of ['cold', 'measure', 'solve', 'head']) {
		const { tokens = null, seconds = null, costs } = used.get(name) ?? {};
		assert.ok(tokens !== null && tokens > 0 && seconds !== null && seconds > 0, `${name}: ${tokens}, ${seconds} s`);
		assert.deepEqual(costs, []);
	}
	assert.match(used.get('cold')?.device ?? '', /^cpu/);
	const { tokens, seconds, device } = used.get('skipped') ?? {};
	assert.deepEqual([tokens, seconds, device], [null, null, null]);
	const { usage } = stageOf(record, 'measure');
	const samples = (await readFile(join(folder, 'measure', 'samples.jsonl'), 'utf8')).trimEnd().split('\n');
	const generated = samples
		.flatMap((line) => (JSON.parse(line) as { samples: { tokens: number }[] }).samples)
		.reduce((sum, sample) => sum + sample.tokens, 0);
	assert.equal(usage?.tokens, generated);

	const head = decodeResolvedRecipe(await readResolvedRecipe(join(folder, 'head')));
	assert.deepEqual(head.model, { path: join(folder, 'cold', 'checkpoints', 'step_000008') });
	const [stage] = head.stages;
	assert.equal(stage?.type === 'value-model' && stage.labels?.path, join(folder, 'solve', 'data', 'labels.jsonl'));
	assert.equal(head.name, 'tiny-head');
	// The context of the new model is large enough for every later stage.
	const first = decodeResolvedRecipe(await readResolvedRecipe(join(folder, 'cold')));
	assert.ok('context' in first.model && (first.model.context ?? 0) >= 18);

	const text = await readFile(join(folder, 'solve', 'data', 'completions.jsonl'), 'utf8');
	const lines = text
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line) as Record<string, unknown>);
	assert.ok(lines.length >= 1 && lines.length <= 12, `${lines.length}`);
	for (const line of lines) {
		assert.match(String(line.prompt), /^\d\+\d=$/);
		assert.equal(typeof line.completion, 'string');
		assert.match(String(line.answer), /^\d+$/);
		assert.ok(line.reward === 0 || line.reward === 1);
	}
	const report = JSON.parse(await readFile(join(folder, 'measure', 'report.json'), 'utf8'));
	assert.equal(report.accuracy.accuracy, stageOf(record, 'measure').accuracy);
	// With access to the gold answer, a correct completion is chosen whenever there is one.
	const judged = report.judgedAtK.map(({ k, accuracy }: { k: number; accuracy: number }) => [k, accuracy]);
	assert.deepEqual(
		judged,
		report.passAtK.map(({ k, accuracy }: { k: number; accuracy: number }) => [k, accuracy]),
	);
	assert.equal(judged.length, 2);
});

test('a stage that reaches its time limit finishes with a checkpoint and is not rerun', async (context) => {
	const place = await PipelinePlace.make(context);
	const stages = [
		{ ...cold, steps: 1_000_000, minutes: 0.02 },
		{ name: 'measure', type: 'evaluate', from: 'cold', problems: 4 },
	];
	const { folder, record } = await place.run(stages);
	assert.deepEqual(states(record), ['cold finished', 'measure finished']);
	const { cut, outputs, spent } = stageOf(record, 'cold');
	const step = Number(/time limit of 0\.02 min reached at step (\d+)$/.exec(cut ?? '')?.[1]);
	assert.ok(step > 0 && step < 1_000_000, cut);
	assert.deepEqual(
		outputs.map(({ kind, path }) => [kind, path]).filter(([kind]) => kind === 'last-checkpoint'),
		[['last-checkpoint', `checkpoints/step_${String(step).padStart(6, '0')}`]],
	);
	assert.ok(spent === undefined || spent >= 0);
	const again = await place.resumedHere(folder);
	assert.equal(stageOf(again, 'cold').cut, cut);
	assert.deepEqual(made(again, 'cold'), made(record, 'cold'));
});
