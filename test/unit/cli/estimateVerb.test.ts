import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { estimateVerb } from '../../../src/cli/estimateVerb.ts';
import { memoryFacts } from '../../../src/runs/memoryFacts.ts';
import { resolveRecipeFile } from '../../../src/runs/prepareRun.ts';
import { objects, Workplace } from './cliFixtures.ts';

const config = {
	...{ model_type: 'qwen2', hidden_size: 896, num_hidden_layers: 24, num_attention_heads: 14, num_key_value_heads: 2 },
	...{ intermediate_size: 4864, vocab_size: 151_936, tie_word_embeddings: true },
};
const recipe = {
	name: 'sums',
	engine: 'pytorch',
	dataset: { task: 'addition' },
	model: { path: './model' },
	stages: [{ type: 'grpo', steps: 4, learning_rate: 1e-6, max_completion_length: 512 }],
};

async function folderOf(context: TestContext, changes: object = {}): Promise<string> {
	const folder = await mkdtemp(join(tmpdir(), 'est-'));
	context.after(() => rm(folder, { recursive: true, force: true }));
	await mkdir(join(folder, 'model'));
	await writeFile(join(folder, 'model', 'config.json'), JSON.stringify(config));
	await writeFile(join(folder, 'a.recipe.json'), JSON.stringify({ ...recipe, ...changes }));
	return folder;
}

test('estimate shows memory by stage and part, and what would fit', { timeout: 120_000 }, async (context) => {
	const place = await Workplace.make(context, await folderOf(context));
	const large = await place.call('estimate', 'a.recipe.json', '--gpu', '80');
	assert.equal(large.status, 1, large.stderr);
	assert.match(large.stdout, /^sums: 494 million parameters \(qwen2\)\n1 process on cuda, bfloat16, attention sdpa\n/);
	assert.match(
		large.stdout,
		/Stage 1 \(grpo\): \d+ GiB in the backward pass, 128 rows of 515 tokens\n {2}logits \d+ GiB, /,
	);
	assert.match(large.stdout, /but the GPU has only 80\.0 GiB\.\nIt would fit with "microBatch": \d+ in "pytorch"\./);
	const change = `pytorch.microBatch=${/"microBatch": (\d+)/.exec(large.stdout)?.[1]}`;
	const small = await place.call('estimate', 'a.recipe.json', '--gpu', '80', '--set', change, '--json');
	assert.equal(small.status, 0, small.stderr);
	const [line] = objects(small.stdout);
	assert.deepEqual([line?.kind, line?.fits, line?.parameters], ['estimate', true, 494_032_768]);
});

test('a pipeline needs as much memory as its largest stage, and each stage uses the model that its policy started from', {
	timeout: 120_000,
}, async (context) => {
	const grpo = { ...recipe.stages[0], minutes: 10 };
	const stages = [
		{ name: 'cold', type: 'sft', steps: 4, learning_rate: 1e-5, batch_size: 2, minutes: 2.5 },
		{ ...grpo, name: 'rl', from: 'cold' },
		{ name: 'student', type: 'sft', model: { layers: 1, width: 16, heads: 2 }, steps: 4, learning_rate: 1e-3 },
		{ name: 'measure', type: 'evaluate', from: 'rl', problems: 4 },
	];
	const place = await Workplace.make(context, await folderOf(context, { stages }));
	const result = await place.call('estimate', 'a.recipe.json', '--gpu', '80');
	assert.equal(result.status, 1, result.stderr);
	assert.match(result.stdout, /^sums: 4 stages in sequence\nstage +type +memory/);
	assert.match(result.stdout, /\nrl +grpo +\d+ GiB +\d+ GiB +10 +does not fit\n/);
	assert.match(result.stdout, /\nmeasure +evaluate +- +- +-\n/);
	assert.match(
		result.stdout,
		/\nThe stages need up to about \d+ GiB \(in rl\), but only 80\.0 GiB is available\. Not all stages fit\.\n/,
	);
	assert.match(result.stdout, /\nThe recipe limits some stages to 12\.5 minutes in total; the other stages/);
	assert.match(result.stdout, /\nrl: It would fit with "microBatch": \d+/);
	const alone = await place.call('estimate', 'a.recipe.json', '--gpu', '800', '--json');
	assert.equal(alone.status, 0, alone.stderr);
	const [line] = objects(alone.stdout) as [
		{ kind: string; fits: boolean; stages: { estimate: { parameters: number } | null }[] },
	];
	assert.deepEqual([line.kind, line.fits], ['pipeline-estimate', true]);
	assert.deepEqual(
		line.stages.map(({ estimate }) => (estimate?.parameters ?? 0) > 1e8),
		[true, true, false, false],
	);
	const [, rl] = line.stages;
	assert.equal(rl?.estimate?.parameters, 494_032_768);
});

test('invalid input is reported', { timeout: 120_000 }, async (context) => {
	const folder = await folderOf(context);
	const run = (...args: string[]) => {
		const quiet = { object() {}, line() {}, note() {}, draw() {}, isTerminal: false };
		return estimateVerb.run({ output: quiet as never, args, engine: '' });
	};
	const file = join(folder, 'a.recipe.json');
	await assert.rejects(run(file, '--gpu', 'large'), { reason: 'invalid', message: /Invalid --gpu value "large"/ });
	await assert.rejects(run(join(folder, 'none.recipe.json')), { reason: 'missing' });
	const embedded = ['--set', 'engine="embedded"', '--set', 'model={"layers":1,"width":16,"heads":2}'];
	assert.equal(await run(file, ...embedded, '--set', 'device="cpu"'), 0);
	await assert.rejects(run(file, ...embedded, '--set', 'device="directml"'), { reason: 'unsupported' });
	await writeFile(join(folder, 'model', 'config.json'), '{}');
	await assert.rejects(run(file), { reason: 'invalid', message: /config\.json has no valid value for "hidden_size"/ });
	await rm(join(folder, 'model', 'config.json'));
	await assert.rejects(run(file), { reason: 'invalid', message: /does not contain a model: config\.json is missing/ });
	await assert.rejects(run(file, '--set', 'model.path="none/of-these"'), {
		reason: 'missing',
		message: /not in the cache/,
	});
});

test('finds models in the hub cache, as checkpoints, and behind adapters', async (context) => {
	const folder = await folderOf(context);
	const cache = join(folder, 'cache', 'models--Qwen--Small');
	await mkdir(join(cache, 'refs'), { recursive: true });
	await mkdir(join(cache, 'snapshots', 'abc123'), { recursive: true });
	await writeFile(join(cache, 'refs', 'main'), 'abc123\n');
	await writeFile(join(cache, 'snapshots', 'abc123', 'config.json'), JSON.stringify(config));
	const facts = async (model: string) => {
		const resolved = await resolveRecipeFile(join(folder, 'a.recipe.json'), {
			set: [{ path: ['model', 'path'], value: model }],
		});
		return memoryFacts(resolved, { HF_HUB_CACHE: join(folder, 'cache') });
	};
	assert.equal((await facts('Qwen/Small')).model.shape.width, 896);
	await mkdir(join(folder, 'adapted'));
	await writeFile(
		join(folder, 'adapted', 'adapter_config.json'),
		JSON.stringify({ base_model_name_or_path: 'Qwen/Small' }),
	);
	assert.equal((await facts('./adapted')).model.family, 'qwen2');
	// Refs that point outside the cache are not followed.
	await writeFile(join(cache, 'refs', 'main'), '../../../model');
	await assert.rejects(facts('Qwen/Small'), { reason: 'missing' });
	await mkdir(join(folder, 'step'));
	const shape = { vocabulary: 20, context: 50, width: 32, heads: 4, layers: 2, feedForward: 128 };
	await writeFile(join(folder, 'step', 'state.json'), JSON.stringify({ format: 1, shape }));
	const own = await facts('./step');
	assert.deepEqual([own.model.family, own.model.shape.positions], ['reasoning-lab', 50]);
	// One token per character: 8 for the prompt and one for the start token.
	assert.equal(own.promptTokens, 9);
});
