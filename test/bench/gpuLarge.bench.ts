import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import type { ProviderName } from '../../src/engines/embedded/compute/providers.ts';
import { checkDevices } from '../../src/engines/embedded/createLearner.ts';
import { type EngineRun, runEngine } from './engineRun.ts';
import { type Bench, type BenchOptions, type Measurement, median, NotHere } from './measurement.ts';

interface Sizes {
	readonly model: {
		readonly layers: number;
		readonly width: number;
		readonly heads: number;
		readonly feedForward: number;
		readonly context: number;
	};
	/** Full-length rows per update in the first stage. */
	readonly rows: number;
	/** Prompts and completions per prompt of the second stage, and tokens per completion. */
	readonly prompts: number;
	readonly group: number;
	readonly tokens: number;
	readonly steps: number;
}

/** 150 million parameters. */
const full: Sizes = {
	model: { layers: 12, width: 768, heads: 12, feedForward: 6528, context: 2048 },
	...{ rows: 4, prompts: 8, group: 8, tokens: 64, steps: 4 },
};
const tiny: Sizes = {
	model: { layers: 2, width: 16, heads: 2, feedForward: 64, context: 64 },
	...{ rows: 2, prompts: 2, group: 4, tokens: 8, steps: 3 },
};

/** Time limit of one run, so that a device that is too slow still gives a result. */
const limitMs = Number(process.env.GPU_BENCH_SECONDS ?? 110) * 1000;

type Line = EngineRun['metrics'][number];

/** Writes documents of digits that fill the context exactly. */
async function writeCorpus(folder: string, { model }: Sizes): Promise<string> {
	const random = Random.of('digits');
	const line = () => Array.from({ length: model.context - 2 }, () => random.int(10)).join('');
	const path = join(folder, 'digits.txt');
	await writeFile(path, Array.from({ length: 64 }, line).join('\n'));
	return path;
}

function recipeOf(corpus: string, provider: string, { model, rows, prompts, group, tokens, steps }: Sizes): object {
	const reward = fileURLToPath(new URL('./digits.reward.ts', import.meta.url));
	const every = 100_000;
	return {
		...{ seed: 1, device: provider, whenBusy: 'share', model, dataset: { task: 'addition', digits: 3 } },
		...{ evaluate: { every, problems: 4 }, checkpoint: { every }, rewards: [{ file: reward }] },
		stages: [
			{ type: 'pretrain', steps, learning_rate: 1e-4, batch_size: rows, workedShare: 0, corpus: { path: corpus } },
			{
				...{ type: 'grpo', steps, learning_rate: 1e-6, num_generations: group, prompts_per_step: prompts, beta: 0.02 },
				...{ max_completion_length: tokens, mask_truncated_completions: false, skip_dead_groups: false },
			},
		],
	};
}

/** The first update of a stage compiles its programs. */
function medianOf(lines: readonly Line[], stage: string, value: (line: Line) => number): number {
	return median(
		lines
			.filter((line) => line.stage === stage)
			.slice(1)
			.map(value),
	);
}

const number = (line: Line, name: string) => Number(line[name] ?? Number.NaN);

function measurements(provider: string, { metrics }: EngineRun, sizes: Sizes): Measurement[] {
	const lines = metrics.filter((line) => typeof line.loss === 'number');
	const seconds = (stage: string) => medianOf(lines, stage, (line) => number(line, 'step_time'));
	const phase = (name: string) => medianOf(lines, 'grpo', (line) => number(line, `time/${name}`));
	const completed = medianOf(lines, 'grpo', (line) => number(line, 'completions/mean_length'));
	const moved = (stage: string) =>
		medianOf(lines, stage, (line) => number(line, 'gpu/bytes_up') + number(line, 'gpu/bytes_down')) / 1e6;
	const used = (stage: string) =>
		Math.max(
			...lines
				.filter((line) => line.stage === stage)
				.map((line) => line['gpu/0/memory_used'])
				.filter((bytes) => typeof bytes === 'number'),
		) / 1e6;
	const { prompts, group, rows, model } = sizes;
	const all: [string, string, number][] = [
		['pretrain/update', 's', seconds('pretrain')],
		['pretrain/tokens', '1/s', (rows * model.context) / seconds('pretrain')],
		['pretrain/bytes', 'MB a step', moved('pretrain')],
		['grpo/step', 's', seconds('grpo')],
		['grpo/generate', 's', phase('generate')],
		['grpo/logprobs', 's', phase('logprobs')],
		['grpo/update', 's', phase('update')],
		['grpo/tokens', '1/s', (prompts * group * completed) / seconds('grpo')],
		['grpo/bytes', 'MB a step', moved('grpo')],
		['pretrain/memory', 'MB used on the device', used('pretrain')],
		// Programs of the first stage keep their memory.
		['grpo/memory', 'MB used on the device', used('grpo')],
	];
	return all
		.filter(([, , value]) => Number.isFinite(value))
		.map(([name, unit, value]) => ({ name: `gpuLarge/${provider}/${name}`, unit, samples: [value] }));
}

async function run({ tiny: smallest }: BenchOptions): Promise<Measurement[]> {
	const sizes = smallest ? tiny : full;
	const wanted = process.env.GPU_BENCH_PROGRAMS?.split(',');
	const found = (await checkDevices()).map(({ provider, error }) => ({ provider: provider as ProviderName, error }));
	for (const { provider, error } of found) console.log(`  ${provider}: ${error ?? 'works'}`);
	// The CPU can be requested, to check that the bench works.
	const cpu = { provider: 'cpu', error: null } as const;
	const usable = [...found, ...(wanted?.includes('cpu') ? [cpu] : [])].filter(
		({ provider, error }) => error === null && (wanted?.includes(provider) ?? true),
	);
	if (usable.length === 0) throw new NotHere('No GPU provider of the embedded engine works here.');
	const folder = await mkdtemp(join(tmpdir(), 'rl-bench-'));
	const results: Measurement[] = [];
	try {
		const corpus = await writeCorpus(folder, sizes);
		for (const { provider } of usable) {
			const start = performance.now();
			try {
				const recipe = recipeOf(corpus, provider, sizes);
				const signal = AbortSignal.timeout(limitMs);
				results.push(
					...measurements(provider, await runEngine(folder, `large-${provider}`, recipe, { signal }), sizes),
				);
				console.log(`  ${provider}: ${((performance.now() - start) / 1000).toFixed(0)} s altogether`);
			} catch (error) {
				console.log(`  ${provider}: failed: ${error instanceof Error ? error.message.slice(-1500) : error}`);
			}
		}
		return results;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title:
		'a model of 150 million parameters (12 layers, width 768, context 2,048) on each GPU provider that works here: ' +
		'4 updates with 4 rows of 2,048 tokens, and 4 GRPO steps of 8 prompts x 8 completions of 64 tokens',
	run,
};
