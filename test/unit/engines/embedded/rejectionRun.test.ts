import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { listCheckpoints, readEvents, readMetrics, readRecord } from '../../../../src/runs/runReader.ts';
import { eventually, tinyRecipe, Workplace } from './engineProcess.ts';
import { runHere } from './runHere.ts';
import { readOutcome } from './runOutcome.ts';

const shared = await Workplace.make();
after(() => shared[Symbol.asyncDispose]());
/** Checkpoint of a model that solves some problems. */
const checkpoint = await policy();

async function policy(): Promise<string> {
	const stages = [{ type: 'sft', steps: 150, learning_rate: 1e-2, batch_size: 16 }];
	const model = { ...tinyRecipe.model, context: 32 };
	const run = await shared.prepare({ ...tinyRecipe, model, stages, evaluate: { every: 1000, problems: 4 } });
	const { code, stderr } = await runHere(shared, run);
	assert.equal(code, 0, stderr);
	return (await listCheckpoints(run)).at(-1)?.path as string;
}

const stage = {
	type: 'rejection-sampling',
	problems: 43,
	prompts_per_step: 5,
	num_generations: 4,
	max_completion_length: 16,
	keep: { minReward: 1, perProblem: 2 },
};

test('correct completions become training data, byte-identical after a kill', async () => {
	await using place = await Workplace.make();
	const general = Array.from({ length: 30 }, (_, i) => ({ prompt: `${i}`, completion: `0${i}`, category: 'general' }));
	await writeFile(join(place.folder, 'general.jsonl'), general.map((row) => JSON.stringify(row)).join('\n'));
	const recipe = {
		...tinyRecipe,
		workers: 2,
		model: { path: checkpoint },
		stages: [
			{ ...stage, extra: [{ path: 'general.jsonl', share: 0.2 }] },
			{ type: 'sft', steps: 2, learning_rate: 1e-3, batch_size: 4 },
		],
		evaluate: { every: 1000, problems: 4 },
		checkpoint: { every: 2, keep: 2 },
	};
	const data = async (run: string) => readFile(join(run, 'data', 'completions.jsonl'), 'utf8');
	const whole = await place.prepare(recipe);
	const first = await runHere(place, whole);
	assert.equal(first.code, 0, first.stderr);
	const text = await data(whole);
	const lines = text
		.trimEnd()
		.split('\n')
		.map((line) => JSON.parse(line));
	const own = lines.filter(({ category }) => category === undefined);
	assert.ok(own.length > 8, `${own.length}`);
	for (const { prompt, completion, answer, reward } of own) {
		assert.match(completion, new RegExp(`<answer>${answer}</answer>$`));
		assert.match(prompt, /^\d\+\d=$/);
		assert.ok(reward >= 1);
	}
	const said = own.map(({ prompt, completion }) => prompt + completion);
	assert.equal(new Set(said).size, said.length);
	assert.equal(lines.length - own.length, Math.round(own.length / 4));
	const events = await readEvents(whole);
	const result = events.find(({ type }) => type === 'rejection-sampling') as Record<string, unknown>;
	assert.equal(result.sha256, createHash('sha256').update(text).digest('hex'));
	assert.equal(result.sampled, 43 * 4);
	const dropped = Object.values(result.dropped as Record<string, number>).reduce((sum, count) => sum + count, 0);
	assert.equal(dropped + own.length, 43 * 4);
	assert.deepEqual(await readdir(join(whole, 'data')), ['completions.jsonl']);
	const metrics = await readMetrics(whole);
	assert.deepEqual(metrics.map(({ stage: name }) => name).slice(8), ['rejection-sampling', 'sft', 'sft']);
	assert.equal(metrics[8]?.values['rejection/rows'], lines.length);
	// The last batch contains the remaining three problems.
	assert.equal((await readFile(join(whole, 'rollouts', 'step_000009.jsonl'), 'utf8')).trimEnd().split('\n').length, 12);
	const before = (await readOutcome(whole)).weights;

	const killed = await place.prepare(recipe);
	const engine = place.start('--run', killed);
	await eventually(async () => (await readMetrics(killed).catch(() => [])).length >= 5, 'the run progresses');
	engine.kill('SIGKILL');
	await engine.exit;
	const resumed = await runHere(place, killed, { resume: true });
	assert.equal(resumed.code, 0, resumed.stderr);
	assert.equal(await data(killed), text);
	const [expected, outcome] = [await readOutcome(whole), await readOutcome(killed)];
	assert.deepEqual(outcome.metrics, expected.metrics);
	assert.deepEqual(outcome.rollouts, expected.rollouts);
	assert.equal(outcome.weights, before);

	await writeFile(join(place.folder, 'kept.jsonl'), text);
	const learn = { type: 'sft', steps: 3, learning_rate: 1e-3, batch_size: 8, data: { path: 'kept.jsonl' } };
	const learned = await place.prepare({ ...recipe, stages: [learn] });
	const last = await runHere(place, learned);
	assert.equal(last.code, 0, last.stderr);
});

test('with solution_pairs, worked solutions are preferred to completions, correct or not', async () => {
	await using place = await Workplace.make();
	const sampling = { ...stage, keep: { correct: false }, solution_pairs: true };
	const sampled = { ...tinyRecipe, model: { path: checkpoint }, evaluate: { every: 1000, problems: 4 } };
	const run = await place.prepare({ ...sampled, stages: [sampling] });
	const { code, stderr } = await runHere(place, run);
	assert.equal(code, 0, stderr);
	const read = async (name: string) =>
		(await readFile(join(run, 'data', name), 'utf8'))
			.trimEnd()
			.split('\n')
			.map((line) => JSON.parse(line));
	const [completions, pairs] = [await read('completions.jsonl'), await read('pairs.jsonl')];
	assert.ok(completions.every((line) => !Object.hasOwn(line, 'pair')));
	assert.ok(pairs.length > 0 && pairs.length <= completions.length);
	const said = new Set(completions.map(({ completion }) => completion));
	for (const { prompt, chosen, rejected } of pairs) {
		const [, a, b] = /(\d)\+(\d)=/.exec(prompt) ?? [];
		assert.match(chosen, new RegExp(`<answer>${Number(a) + Number(b)}</answer>$`));
		assert.ok(said.has(rejected));
		assert.notEqual(chosen, rejected);
	}
	await writeFile(join(place.folder, 'pairs.jsonl'), pairs.map((pair) => JSON.stringify(pair)).join('\n'));
	const learn = { type: 'dpo', steps: 2, learning_rate: 1e-3, batch_size: 4, pairs: { path: 'pairs.jsonl' } };
	const learned = await runHere(place, await place.prepare({ ...sampled, stages: [learn] }));
	assert.equal(learned.code, 0, learned.stderr);
});

test('a stage that keeps no completions reports why and what to do', async () => {
	await using place = await Workplace.make();
	const untrained = { ...tinyRecipe, model: { ...tinyRecipe.model, context: 32 } };
	const run = await place.prepare({ ...untrained, stages: [{ ...stage, problems: 10 }] });
	assert.equal((await runHere(place, run)).code, 2);
	const { error, status } = await readRecord(run);
	assert.equal(status, 'crashed');
	assert.equal(error?.reason, 'missing');
	assert.match(error?.message ?? '', /kept none of 40 completions \(.*(truncated|incorrect) \d+/);
	assert.match(error?.action ?? '', /more samples .*higher "temperature".*lower "minReward"/);
	const result = (await readEvents(run)).find(({ type }) => type === 'rejection-sampling');
	assert.equal(result?.kept, 0);
});
