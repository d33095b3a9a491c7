import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pythonVariable } from '../../src/environment/torchPython.ts';
import { findTestPython } from '../scripts/pythonEnvironment.ts';
import { type Alternated, alternately, type Working } from './alternate.ts';
import { type EngineRun, runEngine } from './engineRun.ts';
import { type Bench, type BenchOptions, type Measurement, median, NotHere } from './measurement.ts';
import { plainOf } from './plainRecipe.ts';
import { type PlainRun, runPlain } from './plainRun.ts';
import { figuresOfPlain, figuresOfRun, medianStep, type StepFigures, stepMeasurements } from './stepFigures.ts';

/** The addition recipe: 800 thousand parameters, 16 prompts x 8 completions per batch, one update per batch. */
const common = {
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 3 },
	evaluate: { every: 100_000, problems: 16 },
	checkpoint: { every: 100_000 },
};

/** Enough training that completions have the format and length of solutions. */
const coldStart = {
	...common,
	seed: 1,
	model: { layers: 4, width: 128, heads: 4, context: 48 },
};
const imitation = { type: 'sft', learning_rate: 1e-3, warmup_steps: 20, batch_size: 64, adam_beta2: 0.98 };

const prompts = 16;
const group = 8;
const rows = prompts * group;

const grpo = {
	type: 'grpo',
	learning_rate: 1e-4,
	num_generations: group,
	prompts_per_step: prompts,
	max_completion_length: 38,
	epsilon_high: 0.28,
	adam_beta2: 0.98,
};

interface Lengths {
	readonly coldStart: number;
	/** Number of steps after which groups for learned problems are dead. */
	readonly learned: number;
	/**
	 * Steps of a measured run, of a pair run in turns, and of a trial that finds TRL's fastest settings (0: no trial).
	 */
	readonly run: number;
	readonly pair: number;
	readonly trial: number;
	/** Steps of each run to ignore. */
	readonly warmUp: number;
}
const full: Lengths = { coldStart: 180, learned: 150, run: 28, pair: 40, trial: 12, warmUp: 4 };
const tiny: Lengths = { coldStart: 20, learned: 2, run: 4, pair: 4, trial: 0, warmUp: 1 };

const withKl = { ...grpo, beta: 0.02, skip_dead_groups: false };
/** Skips groups without advantages if the engine supports it, which changes nothing at beta 0. */
const withoutKl = { ...grpo, beta: 0 };

/** Fastest torch settings. */
interface Setting {
	readonly threads: number;
	readonly attention: string;
}

/** State shared by all parts of the bench. */
class Comparison {
	readonly folder: string;
	readonly python: string;
	#count = 0;

	constructor(folder: string, python: string) {
		this.folder = folder;
		this.python = python;
	}

	embedded(recipe: object): Promise<EngineRun> {
		return runEngine(this.folder, `embedded-${++this.#count}`, recipe);
	}

	/** Runs the same recipe with the pytorch engine. Drops `skip_dead_groups`, which only the other engine supports. */
	pytorch(
		recipe: { stages: readonly object[] },
		{ threads, attention }: Setting,
		onStart?: (pid: number) => void,
	): Promise<EngineRun> {
		const stages = recipe.stages.map((stage) => ({ ...stage, skip_dead_groups: undefined }));
		return runEngine(
			this.folder,
			`pytorch-${++this.#count}`,
			{ ...recipe, stages, pytorch: { attention } },
			{
				...{ engine: 'pytorch', workers: threads, environment: { [pythonVariable]: this.python } },
				...(onStart === undefined ? {} : { onStart }),
			},
		);
	}

	/** Runs the same recipe with a plain script. */
	async plain(
		recipe: object,
		model: string,
		{ threads, attention }: Setting,
		onStart?: (pid: number) => void,
	): Promise<PlainRun> {
		const same = await plainOf(this.folder, recipe);
		const rewards = 'addition_rewards.py:accuracy,format';
		return runPlain(this.folder, {
			...{ ...same, python: this.python, model, rewards, threads, attention },
			...(onStart === undefined ? {} : { onStart }),
		});
	}
}

async function lastCheckpoint(run: EngineRun): Promise<string> {
	const checkpoints = join(run.folder, 'checkpoints');
	return join(checkpoints, (await readdir(checkpoints)).sort().at(-1) as string);
}

/** Tries the plain script with one thread and all threads, and with SDPA and eager attention. */
async function fastest(comparison: Comparison, model: string, lengths: Lengths): Promise<Setting> {
	const cores = availableParallelism();
	if (lengths.trial === 0) return { threads: cores, attention: 'sdpa' };
	const threads = [...new Set([1, cores])];
	const settings = threads.flatMap((n) => ['sdpa', 'eager'].map((attention) => ({ threads: n, attention })));
	const trial = { ...common, seed: 1, model: { path: model }, stages: [{ ...withKl, steps: lengths.trial }] };
	const tried: { setting: Setting; seconds: number }[] = [];
	for (const setting of settings) {
		const run = await comparison.plain(trial, model, setting);
		const seconds = medianStep(figuresOfPlain(run, rows, lengths.warmUp));
		console.log(
			`  TRL, ${setting.threads} thread(s), attention ${setting.attention}: ${seconds.toFixed(3)} s per step`,
		);
		tried.push({ setting, seconds });
	}
	return tried.reduce((a, b) => (b.seconds < a.seconds ? b : a)).setting;
}

/** Returns one loss per step. Equal lists mean that two programs computed the same thing. */
function losses(lines: readonly Readonly<Record<string, unknown>>[]): number[] {
	return lines.map((line) => line.loss).filter((loss) => typeof loss === 'number');
}

function likeness(a: readonly number[], b: readonly number[]): string {
	if (a.length !== b.length) return `from ${a.length} and ${b.length} steps`;
	const first = a.findIndex((loss, i) => loss !== b[i]);
	return first < 0 ? 'equal, bit for bit' : `equal up to step ${first}, then ${a[first]} and ${b[first]}`;
}

function ratios(of: readonly StepFigures[], against: readonly StepFigures[]): number[] {
	return of.map((figures, i) => medianStep(figures) / medianStep(against[i] as StepFigures));
}

/** Starts a program and tracks its process. */
function working<T>(begin: (started: (pid: number) => void) => Promise<T>): Working<T> {
	let pid: number | null = null;
	return { end: begin((own) => (pid = own)), pid: () => pid };
}

/**
 * Returns the percentage by which the engine's steps take longer: the median over steps, which compute the same in
 * both.
 */
function overheadOf(engine: StepFigures, plain: StepFigures): number {
	return 100 * (median(engine.seconds.map((seconds, i) => seconds / (plain.seconds[i] as number))) - 1);
}

async function compare(comparison: Comparison, rounds: number, lengths: Lengths): Promise<Measurement[]> {
	const { coldStart: imitated, learned: learnedSteps, run: steps, pair: pairSteps, warmUp } = lengths;
	const cold = await lastCheckpoint(
		await comparison.embedded({ ...coldStart, stages: [{ ...imitation, steps: imitated }] }),
	);
	const setting = await fastest(comparison, cold, lengths);
	const learning = { ...common, seed: 1, model: { path: cold }, stages: [{ ...withoutKl, steps: learnedSteps }] };
	const learned = await lastCheckpoint(await comparison.embedded(learning));

	const pair = { engine: [] as StepFigures[], plain: [] as StepFigures[] };
	const kl = { embedded: [] as StepFigures[], pytorch: [] as StepFigures[] };
	const free = { embedded: [] as StepFigures[], pytorch: [] as StepFigures[] };
	for (let round = 1; round <= rounds; round++) {
		const first = { ...common, seed: round, model: { path: cold }, stages: [{ ...withKl, steps }] };
		const both = { ...first, stages: [{ ...withKl, steps: pairSteps }] };
		const second = { ...common, seed: round, model: { path: learned }, stages: [{ ...withoutKl, steps }] };
		const result: number[][][] = [];
		// Run several pairs per round because two processes of the same program differ by more than the effect being
		// measured, and alternate which one starts because the first is sometimes slower.
		const byTurns = (begins: 'engine' | 'script') => async () => {
			const engine = () => working((started) => comparison.pytorch(both, setting, started));
			const script = () => working((started) => comparison.plain(both, cold, setting, started));
			const inTurn = async (): Promise<[Alternated<EngineRun>, Alternated<PlainRun>]> => {
				if (begins === 'engine') return alternately(engine(), script());
				const [plain, trained] = await alternately(script(), engine());
				return [trained, plain];
			};
			const [trained, plain] = await inTurn();
			pair.engine.push(figuresOfRun(trained.result, rows, warmUp, trained.pauses));
			pair.plain.push(figuresOfPlain(plain.result, rows, warmUp, plain.pauses));
			result.push([losses(trained.result.metrics), losses(plain.result.steps)]);
		};
		const turns = [
			byTurns('engine'),
			async () => kl.pytorch.push(figuresOfRun(await comparison.pytorch(first, setting), rows, warmUp)),
			async () => kl.embedded.push(figuresOfRun(await comparison.embedded(first), rows, warmUp)),
			async () => free.embedded.push(figuresOfRun(await comparison.embedded(second), rows, warmUp)),
			async () => free.pytorch.push(figuresOfRun(await comparison.pytorch(second, setting), rows, warmUp)),
			byTurns('script'),
		];
		// Alternate between forward and reverse order, so that drift on the machine does not always hit the same program
		// first.
		for (const turn of round % 2 === 1 ? turns : turns.toReversed()) await turn();
		const same = result.map(([engine = [], plain = []]) => likeness(engine, plain));
		console.log(
			`  round ${round}: the losses of the engine and the plain script are ${[...new Set(same)].join(', and ')}`,
		);
	}
	const overhead = pair.engine.map((engine, i) => overheadOf(engine, pair.plain[i] as StepFigures));
	return [
		{ name: 'trainer-overhead', unit: '%', samples: overhead },
		{ name: 'trainer-overhead/threads', unit: '', samples: [setting.threads] },
		...stepMeasurements('trainer-overhead/engine', pair.engine),
		...stepMeasurements('trainer-overhead/plain', pair.plain),
		{ name: 'embedded-vs-trl', unit: 'times as fast', samples: ratios(kl.pytorch, kl.embedded) },
		...stepMeasurements('embedded-vs-trl/embedded', kl.embedded),
		...stepMeasurements('embedded-vs-trl/pytorch', kl.pytorch),
		{ name: 'embedded-vs-trl-beta0', unit: 'times as fast', samples: ratios(free.pytorch, free.embedded) },
		...stepMeasurements('embedded-vs-trl-beta0/embedded', free.embedded),
		...stepMeasurements('embedded-vs-trl-beta0/pytorch', free.pytorch),
	];
}

async function run({ rounds, tiny: smallest }: BenchOptions): Promise<Measurement[]> {
	const found = await findTestPython(console.log);
	if ('missing' in found) throw new NotHere(`There is no Python with torch and TRL: ${found.missing}.`);
	const folder = await mkdtemp(join(tmpdir(), 'rl-bench-'));
	try {
		return await compare(new Comparison(folder, found.python), rounds, smallest ? tiny : full);
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title:
		'3-digit addition, 4 layers of width 128, 16 prompts x 8 completions, one update per batch, float32 on the CPU: ' +
		"what the engine's trainer adds to a plain GRPOTrainer script, and the same recipe with both engines; at beta 0, from a " +
		`policy trained for ${full.learned} steps, where the embedded engine skips dead groups`,
	run,
};
