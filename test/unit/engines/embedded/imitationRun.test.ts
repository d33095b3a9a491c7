import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';
import { checkResume, uninterrupted } from './killResume.ts';
import { runHere } from './runHere.ts';

const rows = Array.from({ length: 40 }, (_, i) => {
	const [a, b] = [i % 10, (3 * i) % 10];
	// One in five is wrong, and the word "so" occurs in no problem.
	const stated = i % 5 === 0 ? a + b + 1 : a + b;
	const line = { prompt: `${a}+${b}=`, answer: `${a + b}` };
	return i % 2 === 0
		? { ...line, completion: `<think>so ${stated}</think><answer>${stated}</answer>` }
		: { ...line, answer: `${stated}`, solution: `so ${stated}` };
});
const model = { ...tinyRecipe.model, context: 32 };
const updates = { steps: 16, learning_rate: 1e-2, batch_size: 8 };
const lines = (values: readonly object[]) => values.map((value) => JSON.stringify(value)).join('\n');

test('completions from a file are imitated in epochs; with minReward, only those with a sufficient reward', async () => {
	await using place = await Workplace.make();
	await writeFile(join(place.folder, 'rows.jsonl'), lines(rows.map((row, i) => (i % 2 === 0 ? row : { ...row }))));
	const whole = rows.filter((row) => 'completion' in row);
	await writeFile(join(place.folder, 'teacher.jsonl'), lines(whole));
	const recipe = {
		...tinyRecipe,
		workers: 2,
		model,
		stages: [
			{ type: 'sft', ...updates, data: { path: 'rows.jsonl' } },
			{ type: 'distill', ...updates, steps: 6, data: { path: 'teacher.jsonl' }, minReward: 1 },
		],
		evaluate: { every: 16, problems: 4 },
		checkpoint: { every: 5, keep: 100 },
	};
	const finished = await uninterrupted(place, recipe, true);
	// Within the second stage.
	await checkResume(place, finished, 20);
	const { run } = finished;
	const losses = (await readMetrics(run)).map(({ values }) => values.loss as number);
	assert.equal(losses.length, 22);
	assert.ok((losses[15] as number) < (losses[0] as number) / 2, losses.join(' '));
	const accepted = JSON.parse(await readFile(join(run, 'data', 'accepted_1.json'), 'utf8'));
	assert.deepEqual(accepted, {
		rows: whole.length,
		accepted: whole.flatMap((row, i) => (row.completion?.includes(`<answer>${row.answer}<`) ? [i] : [])),
	});
	const stated = (await readEvents(run)).filter(({ type }) => type === 'alert').map(({ message }) => `${message}`);
	assert.ok(
		stated.some((message) => message.startsWith('Training on 16 of 20 completions with a reward of at least 1')),
		stated.join(),
	);
	// Data that has changed in the meantime is rejected.
	await writeFile(join(place.folder, 'teacher.jsonl'), lines(whole.slice(1)));
	await rm(join((await listCheckpoints(run)).at(-1)?.path as string), { recursive: true });
	const resumed = await runHere(place, run, { resume: true });
	assert.equal(resumed.code, 2);
	assert.match(resumed.stderr, /dataset .* has changed/);
});

test('data that cannot be imitated is rejected with its location', async () => {
	await using place = await Workplace.make();
	const refused = async (content: string, stage: object, pattern: RegExp) => {
		await writeFile(join(place.folder, 'bad.jsonl'), content);
		const run = await place.prepare({
			...tinyRecipe,
			model,
			stages: [{ ...updates, data: { path: 'bad.jsonl' }, ...stage }],
		});
		assert.equal((await runHere(place, run)).code, 2);
		assert.match((await readRecord(run)).error?.message ?? '', pattern);
	};
	await refused(
		`${lines(rows.slice(0, 1))}\n{"prompt": "1+1="}`,
		{ type: 'sft' },
		/bad\.jsonl, line 2, has no column "completion"/,
	);
	const long = { ...rows[0], completion: 'so '.repeat(20) };
	await refused(lines([long]), { type: 'sft' }, /no usable completions: all 1 exceed/);
	await refused(
		lines(rows),
		{ type: 'distill', minReward: 9 },
		/no completion has a reward of at least 9 \(the highest is 1\.2/,
	);
});

test('a student learns from teacher logits and warns if the student is the larger model', async () => {
	await using place = await Workplace.make();
	const taught = { ...tinyRecipe, model, stages: [{ type: 'sft', steps: 30, learning_rate: 1e-2, batch_size: 16 }] };
	const teacherRun = await place.prepare(taught);
	assert.equal((await runHere(place, teacherRun)).code, 0);
	const teacher = { path: (await listCheckpoints(teacherRun)).at(-1)?.path as string };
	const stage = { type: 'distill', ...updates, teacher, max_completion_length: 16, learning_rate: 1e-2 };
	const recipe = {
		...tinyRecipe,
		workers: 2,
		model: { layers: 1, width: 24, heads: 2, context: 32 },
		stages: [
			{ ...stage, temperature: 2 },
			{ ...stage, steps: 4, on_policy: true, alpha: 0.1 },
		],
		evaluate: { every: 100, problems: 4 },
		checkpoint: { every: 6, keep: 100 },
	};
	const whole = await uninterrupted(place, recipe, true);
	// Between two updates of the second stage.
	await checkResume(place, whole, 18);
	const { run } = whole;
	const divergences = (await readMetrics(run)).map(({ values }) => values['distill/divergence'] as number);
	assert.equal(divergences.length, 20);
	assert.ok((divergences[15] as number) < (divergences[0] as number) / 2, divergences.join(' '));
	const events = await readEvents(run);
	assert.match(
		`${events.find(({ level }) => level === 'warning')?.message}`,
		/student has \d+ parameters and its teacher \d+/,
	);
	const own = { path: (await listCheckpoints(run)).at(-1)?.path as string };
	const others = await place.prepare({
		...recipe,
		dataset: { task: 'arithmetic' },
		stages: [{ ...stage, teacher: own }],
	});
	assert.equal((await runHere(place, others)).code, 2);
	assert.match(
		(await readRecord(others)).error?.message ?? '',
		/Teacher .* does not match the recipe: its vocabulary lacks "\*"/,
	);
	const arithmetic = {
		...taught,
		dataset: { task: 'arithmetic', terms: 2 },
		stages: [{ type: 'sft', steps: 1, learning_rate: 1e-2 }],
	};
	const student = await place.prepare(arithmetic);
	assert.equal((await runHere(place, student)).code, 0);
	const model2 = { path: (await listCheckpoints(student)).at(-1)?.path as string };
	const mixed = await place.prepare({ ...recipe, model: model2, stages: [stage] });
	assert.equal((await runHere(place, mixed)).code, 2);
	assert.match((await readRecord(mixed)).error?.message ?? '', /differs from the student's: token \d+ is/);
});
