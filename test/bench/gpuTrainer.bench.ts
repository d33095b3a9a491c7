import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { estimateRecipe } from '../../src/core/memory/estimateRecipe.ts';
import { shapeOfConfig } from '../../src/core/memory/modelShape.ts';
import { decodeResolvedRecipe } from '../../src/core/recipe/resolve.ts';
import { pythonVariable } from '../../src/environment/torchPython.ts';
import { readResolvedRecipe } from '../../src/runs/runReader.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { type EngineRun, runEngine } from './engineRun.ts';
import { type Bench, type BenchOptions, type Measurement, NotHere } from './measurement.ts';
import { plainOf } from './plainRecipe.ts';
import { runPlain } from './plainRun.ts';
import { figuresOfPlain, figuresOfRun, medianStep, type StepFigures, stepMeasurements } from './stepFigures.ts';

const execute = promisify(execFile);
const scripts = fileURLToPath(new URL('./trl/', import.meta.url));

const rewards = 'letter_rewards.py';
const attention = 'sdpa';

/** Number of tokens in a sum of two three-digit numbers, one token per character. */
const promptTokens = 8;

interface Sizes {
	/** Uses the names in Qwen2Config. */
	readonly shape: Readonly<Record<string, number | boolean>>;
	readonly prompts: number;
	readonly group: number;
	readonly microBatch: number;
	readonly completion: number;
	readonly steps: number;
	readonly warmUp: number;
	/** Number of run pairs, regardless of `--rounds`, because GPU time is expensive. */
	readonly pairs: number;
	readonly device: 'cuda' | 'cpu';
	readonly precision: 'bfloat16' | 'float32';
}

/** Shape of Qwen2.5-0.5B (Qwen Team 2024, table 1), with 64 completions of 128 tokens per step. */
const full: Sizes = {
	shape: {
		num_hidden_layers: 24,
		hidden_size: 896,
		num_attention_heads: 14,
		num_key_value_heads: 2,
		intermediate_size: 4864,
		vocab_size: 151_936,
		max_position_embeddings: 2048,
		tie_word_embeddings: true,
	},
	prompts: 8,
	group: 8,
	microBatch: 16,
	completion: 128,
	steps: 10,
	warmUp: 2,
	pairs: 2,
	device: 'cuda',
	precision: 'bfloat16',
};

/** Smoke test that runs on any machine. */
const tiny: Sizes = {
	...full,
	shape: {
		num_hidden_layers: 2,
		hidden_size: 32,
		num_attention_heads: 4,
		num_key_value_heads: 2,
		intermediate_size: 64,
		vocab_size: 500,
		max_position_embeddings: 256,
		tie_word_embeddings: true,
	},
	prompts: 2,
	group: 4,
	microBatch: 4,
	completion: 8,
	steps: 4,
	warmUp: 1,
	pairs: 1,
	device: 'cpu',
	precision: 'float32',
};

/** Returns the name of the first CUDA GPU that torch sees, or null if there is none. */
async function findGpu(python: string): Promise<string | null> {
	const script = [
		'import torch',
		'ok = torch.cuda.is_available()',
		'print(torch.cuda.get_device_name(0) if ok else "", "" if ok else torch.version.cuda, sep="|")',
	].join('\n');
	const { stdout } = await execute(python, ['-c', script]);
	const [name] = stdout.trim().split('|') as [string];
	return name === '' ? null : name;
}

/** Returns whether an NVIDIA driver responds. Without one, there is no need to look for Python. */
async function hasDriver(): Promise<boolean> {
	return execute('nvidia-smi', ['-L']).then(
		({ stdout }) => stdout.includes('GPU'),
		() => false,
	);
}

/** Returns the estimated tensor memory for the run's recipe, in bytes. */
async function estimateOf(run: EngineRun, model: string, device: Sizes['device']): Promise<number> {
	const config: unknown = JSON.parse(await readFile(join(model, 'config.json'), 'utf8'));
	const facts = { model: shapeOfConfig(config, model), promptTokens, textTokens: null, device, deviceBytes: null };
	return estimateRecipe(decodeResolvedRecipe(await readResolvedRecipe(run.folder)), facts).tensors;
}

/** Returns the peak tensor memory that torch reported during an engine run, in bytes, or null if none was reported. */
function peakOf(run: EngineRun): number | null {
	const peaks = run.metrics.map((line) => line['gpu/0/memory_peak']).filter((x) => typeof x === 'number');
	return peaks.length === 0 ? null : Math.max(...peaks);
}

async function measure(folder: string, python: string, sizes: Sizes): Promise<Measurement[]> {
	const model = join(folder, 'model');
	const shape = JSON.stringify(sizes.shape);
	const { stdout } = await execute(python, [join(scripts, 'random_model.py'), '--folder', model, '--shape', shape]);
	console.log(`  a model of ${(Number(stdout.trim()) / 1e6).toFixed(1)} million parameters`);
	const rows = sizes.prompts * sizes.group;
	const recipe = (seed: number) => ({
		seed,
		model: { path: model },
		device: sizes.device,
		whenBusy: 'share',
		dataset: { task: 'addition', digits: 3 },
		rewards: [{ file: join(scripts, rewards) }],
		evaluate: { every: 100_000, problems: 4 },
		checkpoint: { every: 100_000 },
		pytorch: { precision: sizes.precision, microBatch: sizes.microBatch, attention },
		stages: [
			{
				type: 'grpo',
				steps: sizes.steps,
				learning_rate: 1e-6,
				num_generations: sizes.group,
				prompts_per_step: sizes.prompts,
				max_completion_length: sizes.completion,
				beta: 0.02,
			},
		],
	});

	const engine: StepFigures[] = [];
	const plain: StepFigures[] = [];
	let estimate = Number.NaN;
	const peaks: number[] = [];
	const plainPeaks: number[] = [];
	for (let pair = 1; pair <= sizes.pairs; pair++) {
		const turns = [
			async () => {
				const run = await runEngine(folder, `engine-${pair}`, recipe(pair), {
					engine: 'pytorch',
					environment: { [pythonVariable]: python },
				});
				engine.push(figuresOfRun(run, rows, sizes.warmUp));
				estimate = await estimateOf(run, model, sizes.device);
				const peak = peakOf(run);
				if (peak !== null) peaks.push(peak);
			},
			async () => {
				const run = await runPlain(folder, {
					...(await plainOf(folder, recipe(pair))),
					...{ python, model, rewards: `${rewards}:letters`, threads: 0, attention },
				});
				plain.push(figuresOfPlain(run, rows, sizes.warmUp));
				const peak = run.steps.at(-1)?.memory_peak;
				if (peak !== undefined) plainPeaks.push(peak);
			},
		];
		for (const turn of pair % 2 === 1 ? turns : turns.toReversed()) await turn();
	}
	const overhead = engine.map((run, i) => 100 * (medianStep(run) / medianStep(plain[i] as StepFigures) - 1));
	const perSecond = (runs: readonly StepFigures[]) =>
		runs.flatMap((run) => run.seconds.map((seconds, i) => (run.tokens[i] as number) / seconds));
	const megabytes = (bytes: readonly number[]) => bytes.map((x) => x / 1e6);
	return [
		{ name: 'gpu/tokens', unit: '1/s', samples: perSecond(engine) },
		{ name: 'gpu/plain/tokens', unit: '1/s', samples: perSecond(plain) },
		{ name: 'gpu/overhead', unit: '%', samples: overhead },
		...stepMeasurements('gpu/engine', engine),
		...stepMeasurements('gpu/plain', plain),
		...(peaks.length > 0 ? [{ name: 'gpu/memory', unit: 'MB', samples: megabytes(peaks) }] : []),
		{ name: 'gpu/memory/estimate', unit: 'MB', samples: megabytes([estimate]) },
		...(peaks.length > 0
			? [{ name: 'gpu/memory/error', unit: '%', samples: peaks.map((peak) => 100 * (estimate / peak - 1)) }]
			: []),
		...(plainPeaks.length > 0 ? [{ name: 'gpu/plain/memory', unit: 'MB', samples: megabytes(plainPeaks) }] : []),
	];
}

async function run({ tiny: smallest }: BenchOptions): Promise<Measurement[]> {
	if (!smallest && !(await hasDriver())) throw new NotHere('There is no CUDA GPU here (nvidia-smi finds none).');
	const found = await findTestPython(console.log);
	if ('missing' in found) throw new NotHere(`There is no Python with torch and TRL: ${found.missing}.`);
	if (!smallest) {
		const gpu = await findGpu(found.python);
		if (gpu === null) {
			throw new NotHere(
				`The torch of ${found.python} sees no CUDA GPU. Set REASONING_LAB_TEST_PYTHON to a Python with a CUDA build of it.`,
			);
		}
		console.log(`  on ${gpu}`);
	}
	const folder = await mkdtemp(join(tmpdir(), 'rl-bench-'));
	try {
		return await measure(folder, found.python, smallest ? tiny : full);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title:
		"GRPO on a model of Qwen2.5-0.5B's shape with random weights, bfloat16, 8 prompts x 8 completions of 128 tokens: " +
		"tokens a second, peak memory against the estimate, and what the engine's trainer adds to a plain GRPOTrainer script",
	run,
};
