import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Random } from '../../src/base/random.ts';
import type { ProviderName } from '../../src/engines/embedded/compute/providers.ts';
import { checkDevices } from '../../src/engines/embedded/createLearner.ts';
import { pythonVariable } from '../../src/environment/torchPython.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { hardware } from '../support/softwareGpu.ts';
import { runEngine } from './engineRun.ts';
import { type Bench, type BenchOptions, type Measurement, median, NotHere } from './measurement.ts';
import { plainOf } from './plainRecipe.ts';
import { runPlain } from './plainRun.ts';
import { figuresOfPlain, figuresOfRun, medianStep, type StepFigures } from './stepFigures.ts';

/** About 0.8, 6 and 25 million parameters. */
const models = {
	'0.8M': { layers: 4, width: 128, heads: 4 },
	'6M': { layers: 8, width: 256, heads: 8 },
	'25M': { layers: 8, width: 512, heads: 8 },
} as const;
type ModelName = keyof typeof models;

const prompts = 16;
const group = 8;
const rows = prompts * group;
const promptTokens = 12;
/** Context length required by the task's worked solutions. */
const shortest = 48;

interface Cell {
	readonly model: ModelName;
	/** Tokens per completion. */
	readonly tokens: number;
	readonly beta: number;
}

/** In order of importance. `GPU_BENCH_CELLS` selects some of them, such as `6M/64/0.02,25M/64/0`. */
const cells: readonly Cell[] = [
	...(['0.8M', '6M', '25M'] as const).map((model) => ({ model, tokens: 64, beta: 0.02 })),
	...(['6M', '25M', '0.8M'] as const).map((model) => ({ model, tokens: 256, beta: 0.02 })),
	...(['0.8M', '6M', '25M'] as const).map((model) => ({ model, tokens: 64, beta: 0 })),
	...(['6M', '25M', '0.8M'] as const).map((model) => ({ model, tokens: 256, beta: 0 })),
];

interface Sizes {
	readonly cells: readonly Cell[];
	readonly steps: number;
	/** Steps that compile programs, or run code that is not yet optimized. */
	readonly warmUp: number;
	readonly coldStart: number;
}

const full: Sizes = { cells, steps: 14, warmUp: 6, coldStart: 30 };
const tiny: Sizes = { cells: [{ model: '0.8M', tokens: 8, beta: 0.02 }], steps: 4, warmUp: 1, coldStart: 2 };

/** Provider of the embedded engine with a lower precision. Measured only if GPU_BENCH_PROGRAMS lists it. */
type ReducedProvider = 'cuda:bfloat16' | 'cuda:float16' | 'webgpu:float16';
type Program = ProviderName | ReducedProvider | 'pytorch' | 'pytorch:bfloat16' | 'trl' | 'trl:bfloat16';
const reducedProviders: readonly ReducedProvider[] = ['cuda:bfloat16', 'cuda:float16', 'webgpu:float16'];
const ofPython = ['pytorch', 'pytorch:bfloat16', 'trl', 'trl:bfloat16'] as const;
const unlessListed: readonly string[] = ['cpu', ...reducedProviders, 'pytorch:bfloat16', 'trl:bfloat16'];

const common = {
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 3 },
	evaluate: { every: 100_000, problems: 4 },
	checkpoint: { every: 100_000 },
};

/**
 * Trains a model that writes digits and never ends a text, so that all completions have the full length in every
 * program. Returns its checkpoint.
 */
async function coldStart(folder: string, model: ModelName, tokens: number, steps: number, device: ProviderName) {
	const random = Random.of('digits');
	const line = () => Array.from({ length: 5000 }, () => random.int(10)).join('');
	const corpus = join(folder, 'digits.txt');
	await writeFile(corpus, Array.from({ length: 40 }, line).join('\n'));
	const name = `cold-${model}-${tokens}`;
	const { folder: run } = await runEngine(folder, name, {
		...{ ...common, device, seed: 1 },
		model: { ...models[model], context: Math.max(shortest, promptTokens + tokens) },
		stages: [
			{ type: 'pretrain', steps, learning_rate: 1e-3, batch_size: 16, workedShare: 0, corpus: { path: corpus } },
		],
	});
	const checkpoints = join(run, 'checkpoints');
	return join(checkpoints, (await readdir(checkpoints)).sort().at(-1) as string);
}

interface Result extends StepFigures {
	/** Bytes to and from the device, and dispatches, per step; absent where the program does not count them. */
	readonly bytes?: number;
	readonly dispatches?: number;
	/** Peak tensor memory on the device. */
	readonly memory?: number;
}

function meanOf(lines: readonly Readonly<Record<string, unknown>>[], names: readonly string[]): number | undefined {
	const sums = lines.map((line) => names.reduce((sum, name) => sum + Number(line[name] ?? Number.NaN), 0));
	const known = sums.filter(Number.isFinite);
	return known.length === 0 ? undefined : known.reduce((sum, x) => sum + x, 0) / known.length;
}

async function measure(
	program: Program,
	cell: Cell,
	{ folder, python, model, sizes }: { folder: string; python: string | null; model: string; sizes: Sizes },
): Promise<Result> {
	const { steps, warmUp } = sizes;
	const { tokens, beta } = cell;
	const stage = {
		...{ type: 'grpo', steps, learning_rate: 1e-6, num_generations: group, prompts_per_step: prompts, beta },
		max_completion_length: tokens,
		mask_truncated_completions: false,
	};
	const [kind, precision = 'float32'] = program.split(':') as [string, string | undefined];
	const recipe = (reward: string, device: string) => ({
		...{ ...common, device, precision, seed: 1, model: { path: model }, rewards: [{ file: reward }], stages: [stage] },
	});
	const python3 = fileURLToPath(new URL('./trl/digit_rewards.py', import.meta.url));
	const name = `${program.replace(':', '-')}-${cell.model}-${tokens}-${beta}`;
	if (python !== null && kind === 'trl') {
		const same = await plainOf(folder, recipe(python3, 'cuda'));
		const rewards = 'digit_rewards.py:digits';
		const run = await runPlain(folder, { ...same, python, model, rewards, threads: 0, attention: 'sdpa' });
		const memory = run.steps.at(-1)?.memory_peak;
		return { ...figuresOfPlain(run, rows, warmUp), ...(memory === undefined ? {} : { memory }) };
	}
	if (python !== null && kind === 'pytorch') {
		const pytorch = { attention: 'sdpa' };
		const environment = { [pythonVariable]: python };
		const run = await runEngine(
			folder,
			name,
			{ ...recipe(python3, 'cuda'), pytorch },
			{ engine: 'pytorch', environment },
		);
		const peaks = run.metrics.map((line) => line['gpu/0/memory_peak']).filter((x) => typeof x === 'number');
		return { ...figuresOfRun(run, rows, warmUp), ...(peaks.length > 0 ? { memory: Math.max(...peaks) } : {}) };
	}
	const reward = fileURLToPath(new URL('./digits.reward.ts', import.meta.url));
	const run = await runEngine(folder, name, {
		...recipe(reward, kind),
		stages: [{ ...stage, skip_dead_groups: false }],
	});
	const lines = run.metrics.filter((line) => typeof line.loss === 'number').slice(warmUp);
	const bytes = meanOf(lines, ['gpu/bytes_up', 'gpu/bytes_down']);
	const dispatches = meanOf(lines, ['gpu/dispatches']);
	return {
		...figuresOfRun(run, rows, warmUp),
		...(bytes === undefined ? {} : { bytes }),
		...(dispatches === undefined ? {} : { dispatches }),
	};
}

function measurements(program: Program, { model, tokens, beta }: Cell, result: Result): Measurement[] {
	const prefix = `gpu/${model}/${tokens}/${beta}/${program}`;
	const perSecond = result.seconds.map((seconds, i) => (result.tokens[i] as number) / seconds);
	const one = (name: string, unit: string, value: number | undefined): Measurement[] =>
		value === undefined ? [] : [{ name: `${prefix}/${name}`, unit, samples: [value] }];
	return [
		{ name: `${prefix}/step`, unit: 's', samples: result.seconds },
		{ name: `${prefix}/generate`, unit: 's', samples: result.phases.generate },
		{ name: `${prefix}/update`, unit: 's', samples: result.phases.update },
		{ name: `${prefix}/tokens`, unit: '1/s', samples: perSecond },
		...one('bytes', 'MB a step', result.bytes === undefined ? undefined : result.bytes / 1e6),
		...one('dispatches', 'a step', result.dispatches),
		...one('memory', 'MB', result.memory === undefined ? undefined : result.memory / 1e6),
	];
}

const isOfPython = (name: string) => ofPython.some((program) => program === name);

/** Returns a Python with torch and TRL, or null if there is none, which is reported. */
async function pythonHere(): Promise<string | null> {
	const found = await findTestPython(console.log);
	if ('python' in found) return found.python;
	console.log(`  pytorch, trl: there is no Python with torch and TRL: ${found.missing}`);
	return null;
}

/**
 * Returns the embedded engine's providers that work here. Without a graphics card, there are none, because the figures
 * would be meaningless.
 */
async function devices(): Promise<ProviderName[]> {
	const found = await checkDevices();
	for (const { provider, error } of found) console.log(`  ${provider}: ${error ?? 'works'}`);
	return found.filter(({ error }) => error === null).map(({ provider }) => provider as ProviderName);
}

async function run({ tiny: smallest }: BenchOptions): Promise<Measurement[]> {
	const sizes = smallest ? tiny : full;
	const embedded = await devices();
	if (embedded.length === 0) throw new NotHere('No GPU provider of the embedded engine works here.');
	if (!smallest && !hardware) {
		throw new NotHere('Set TEST_GPU_HARDWARE=1 to measure the GPU of this machine, which must not be a software GPU.');
	}
	const wanted = process.env.GPU_BENCH_PROGRAMS?.split(',');
	const reduced = reducedProviders.filter((name) => embedded.some((provider) => name.startsWith(`${provider}:`)));
	const all: Program[] = [...embedded, ...reduced, 'cpu', ...ofPython];
	const selected = all.filter((name) => wanted?.includes(name) ?? !unlessListed.includes(name));
	const python = selected.some(isOfPython) ? await pythonHere() : null;
	const programs = python === null ? selected.filter((name) => !isOfPython(name)) : selected;
	if (programs.length === 0) throw new NotHere(`None of the programs works here: ${wanted?.join(', ')}.`);
	const limit = Number(process.env.GPU_BENCH_SECONDS ?? Number.POSITIVE_INFINITY);
	const start = performance.now();
	const folder = await mkdtemp(join(tmpdir(), 'rl-bench-'));
	const results: Measurement[] = [];
	try {
		const chosen = process.env.GPU_BENCH_CELLS?.split(',');
		for (const cell of sizes.cells) {
			if (chosen?.includes(`${cell.model}/${cell.tokens}/${cell.beta}`) === false) continue;
			const first = embedded[0] as ProviderName;
			let model: string | null = null;
			const steps = new Map<string, number>();
			for (const program of programs) {
				const title = `${cell.model}, ${cell.tokens} tokens, beta ${cell.beta}, ${program}`;
				if ((performance.now() - start) / 1000 > limit) {
					console.log(`  ${title}: not measured, because the time limit has passed`);
					continue;
				}
				try {
					model ??= await coldStart(folder, cell.model, cell.tokens, sizes.coldStart, first);
					const result = await measure(program, cell, { folder, python, model, sizes });
					results.push(...measurements(program, cell, result));
					steps.set(program, medianStep(result));
					const { generate, logprobs, update } = result.phases;
					const phase = [generate, logprobs, update].map((samples) => median(samples).toFixed(3)).join(' / ');
					const figures = [
						`${medianStep(result).toFixed(3)} s per step (generate / logprobs / update ${phase})`,
						`${Math.round(median(result.tokens) / medianStep(result))} tokens/s`,
						...(result.bytes === undefined ? [] : [`${(result.bytes / 1e6).toFixed(2)} MB`]),
						...(result.dispatches === undefined ? [] : [`${Math.round(result.dispatches)} dispatches`]),
						...(result.memory === undefined ? [] : [`${Math.round(result.memory / 1e6)} MB peak memory`]),
					];
					console.log(`  ${title}: ${figures.join(', ')}`);
				} catch (error) {
					console.log(`  ${title}: failed: ${error instanceof Error ? error.message.slice(-1500) : error}`);
				}
			}
			const trl = steps.get('trl');
			for (const [program, seconds] of steps) {
				if (trl === undefined || program === 'trl') continue;
				const name = `gpu/${cell.model}/${cell.tokens}/${cell.beta}/${program}/trl`;
				results.push({ name, unit: 'times as fast', samples: [trl / seconds] });
			}
		}
		return results;
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title:
		'a GRPO step of 16 prompts x 8 completions on a GPU, in float32 unless another precision is listed: the embedded engine on each provider that works ' +
		'here, the pytorch engine and plain TRL',
	run,
};
