import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeResolvedRecipe } from '../../../../src/core/recipe/resolve.ts';
import { evaluate } from '../../../../src/engines/embedded/run/evaluator.ts';
import { PolicyService } from '../../../../src/engines/embedded/run/policyService.ts';
import { type StartedTraining, startTraining } from '../../../../src/engines/embedded/run/startTraining.ts';
import { RunRewards } from '../../../../src/engines/shared/runRewards.ts';
import { openDataset } from '../../../../src/runs/openDataset.ts';
import { readResolvedRecipe } from '../../../../src/runs/runReader.ts';
import { tinyRecipe, Workplace } from './engineProcess.ts';

const context = 60;
/** Many symbols, so that end-of-sequence is rarely drawn. */
const letters = Array.from({ length: 200 }, (_, i) => String.fromCodePoint(0x4e00 + i)).join('');

/** Creates an untrained model, so most completions continue until they are truncated. */
async function untrained(
	place: Workplace,
	rows: readonly object[],
	stages: readonly object[],
): Promise<StartedTraining> {
	const lines = (list: readonly object[]) => list.map((row) => `${JSON.stringify(row)}\n`).join('');
	await writeFile(join(place.folder, 'train.jsonl'), lines([{ prompt: '0=', answer: '0', solution: letters }]));
	await writeFile(join(place.folder, 'test.jsonl'), lines(rows));
	const dataset = { path: 'train.jsonl', heldOut: 'test.jsonl' };
	const model = { ...tinyRecipe.model, context };
	const run = await place.prepare({
		...tinyRecipe,
		dataset,
		model,
		template: 'plain',
		rewards: [{ use: 'accuracy' }],
		stages,
	});
	const recipe = decodeResolvedRecipe(await readResolvedRecipe(run), run);
	return startTraining({
		recipe,
		lastDevice: null,
		deviceBytes: null,
		dataset: await openDataset(recipe.dataset),
		checkpoint: null,
		rewards: new RunRewards(run, recipe).loaded,
		onLeftOut: () => undefined,
		onFewerRows: () => undefined,
		reducedRows: {},
		labels: { byStage: new Map(), hash: null },
		pairs: { byStage: new Map(), hash: null },
		imitation: {
			corpora: new Map(),
			completions: new Map(),
			extra: new Map(),
			teachers: new Map(),
			texts: [],
			hash: null,
		},
		environment: null,
	});
}

const interrupt = new AbortController().signal;
const short = { prompt: '1=', answer: '1' };
const long = { prompt: '2'.repeat(context - 5), answer: '2' };

test('a long held-out prompt does not shorten completions of other prompts', async () => {
	await using place = await Workplace.make();
	const settings = { name: 'heldout', problems: 8, samples: 8, temperature: 1 };
	for (const [max_completion_length, max] of [
		[20, 20],
		[undefined, context],
	] as const) {
		const stage = max_completion_length
			? { ...tinyRecipe.stages[1], max_completion_length }
			: { ...tinyRecipe.stages[0], steps: 1 };
		const { parts, progress } = await untrained(place, [short, long], [stage]);
		try {
			const { lines } = await evaluate({ parts, progress, interrupt, noteFailures: () => undefined }, 0, settings);
			const lengths = (prompt: string) =>
				lines
					.filter((line) => String(line.prompt).startsWith(prompt) && line.truncated)
					.map((line) => parts.tokenizer.encode(String(line.completion)).length);
			assert.ok(lengths('1').length > 0, 'some completions were truncated');
			assert.ok(Math.max(...lengths('1')) > max / 2, `${lengths('1')}`);
			assert.ok(lengths('2').every((n) => n < 6));
		} finally {
			parts.rewards.dispose();
			await parts.learner.dispose();
		}
	}
});

test('completions of a prompt do not depend on the other prompts in the request', async () => {
	await using place = await Workplace.make();
	const { parts } = await untrained(place, [short, long], [{ ...tinyRecipe.stages[0], steps: 1 }]);
	try {
		const policy = new PolicyService(parts.learner, parts.tokenizer, (task) => task());
		const request = { n: 3, temperature: 1, topP: 1, stop: [], logprobs: true, alternatives: 0, seed: 1 };
		const alone = await policy.generate({ ...request, prompts: [short.prompt] });
		const together = await policy.generate({ ...request, prompts: [short.prompt, long.prompt] });
		const texts = (list: typeof alone) => list.completions[0]?.map(({ text, truncated }) => ({ text, truncated }));
		assert.deepEqual(texts(together), texts(alone));
		for (const { tokens } of together.completions[1] ?? []) assert.ok((tokens?.text.length as number) <= 4);
	} finally {
		parts.rewards.dispose();
		await parts.learner.dispose();
	}
});
