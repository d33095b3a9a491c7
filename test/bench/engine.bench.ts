import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session } from '../../src/engines/embedded/compute/runtime.ts';
import { createLearner } from '../../src/engines/embedded/createLearner.ts';
import {
	decodeProgram,
	gradientProgram,
	logprobsProgram,
	prefillProgram,
} from '../../src/engines/embedded/model/programs.ts';
import type { ModelShape } from '../../src/engines/shared/modelShape.ts';
import { type EngineRun, runEngine } from './engineRun.ts';
import { type Bench, type BenchOptions, type Measurement, median } from './measurement.ts';
import { runOther } from './otherProgram.ts';

/** Three-digit addition with up to 24 symbols: 800 thousand parameters. */
const shape: ModelShape = { vocabulary: 20, context: 48, width: 128, heads: 4, layers: 4, feedForward: 512 };
const { layers, width, heads, context } = shape;

const common = {
	device: 'cpu',
	whenBusy: 'share',
	dataset: { task: 'addition', digits: 3 },
	evaluate: { every: 100_000 },
	checkpoint: { every: 100_000 },
};

/** Enough training that completions have the format and length of solutions and their rewards differ. */
const coldStart = {
	...common,
	seed: 1,
	model: { layers, width, heads, context },
	stages: [{ type: 'sft', steps: 180, learning_rate: 1e-3, warmup_steps: 20, batch_size: 64, adam_beta2: 0.98 }],
};

/** Generation batches per round. The first ones compile programs and are not counted. */
const batches = 14;
const warmUp = 2;

const grpo = {
	type: 'grpo',
	learning_rate: 1e-4,
	num_generations: 8,
	prompts_per_step: 16,
	max_completion_length: 38,
	epsilon_high: 0.28,
	adam_beta2: 0.98,
};

/** Settings used for comparison with other programs. */
const two = { ...grpo, steps: 2 * batches, steps_per_generation: 2, beta: 0.02, skip_dead_groups: false };
const one = { ...grpo, steps: batches, beta: 0 };

interface BatchFigures {
	readonly seconds: number[];
	readonly completions: number[];
	readonly tokens: number[];
	readonly dead: number[];
}

/** Returns the metrics for each generation batch of a run, summed over its updates. */
function perBatch(run: EngineRun, updates: number): BatchFigures {
	const steps = run.metrics.filter((line) => typeof line.step_time === 'number');
	const figures: BatchFigures = { seconds: [], completions: [], tokens: [], dead: [] };
	for (let i = warmUp * updates; i + updates <= steps.length; i += updates) {
		const group = steps.slice(i, i + updates);
		const first = group[0] as Record<string, number>;
		figures.seconds.push(group.reduce((n, line) => n + (line.step_time as number), 0));
		figures.completions.push(first['throughput/completions'] as number);
		figures.tokens.push(first['throughput/tokens'] as number);
		figures.dead.push(100 * (first.frac_reward_zero_std as number));
	}
	return figures;
}

function figures(prefix: string, runs: readonly BatchFigures[]): Measurement[] {
	const all = (pick: (f: BatchFigures) => number[]) => runs.flatMap(pick);
	return [
		{ name: `${prefix}/step`, unit: 's', samples: all((f) => f.seconds) },
		{ name: `${prefix}/completions`, unit: '1/s', samples: all((f) => f.completions) },
		{ name: `${prefix}/tokens`, unit: '1/s', samples: all((f) => f.tokens) },
		{ name: `${prefix}/dead_groups`, unit: '%', samples: all((f) => f.dead) },
	];
}

async function compileTimes(rounds: number): Promise<Measurement[]> {
	const programs = {
		prefill: () => prefillProgram(shape),
		decode: () => decodeProgram(shape),
		logprobs: () => logprobsProgram(shape),
		gradient: () => gradientProgram(shape, { kind: 'grpo', old: true, kl: true }),
	};
	const samples = new Map<string, number[]>();
	for (let round = 0; round < rounds; round++) {
		for (const [name, build] of Object.entries(programs)) {
			const start = performance.now();
			const session = await Session.create(build().encode(), { provider: 'cpu', threads: 1 });
			samples.set(name, [...(samples.get(name) ?? []), performance.now() - start]);
			await session.release();
		}
		const start = performance.now();
		const workers = availableParallelism();
		const learner = await createLearner({ shape, seed: 1, device: 'cpu', workers, sampleRows: 64, trainRows: 16 });
		samples.set('learner', [...(samples.get('learner') ?? []), performance.now() - start]);
		await learner.dispose();
	}
	return [...samples].map(([name, times]) => ({ name: `engine/create/${name}`, unit: 'ms', samples: times }));
}

async function run({ against, againstPattern, rounds }: BenchOptions): Promise<Measurement[]> {
	const folder = await mkdtemp(join(tmpdir(), 'reasoning-lab-bench-'));
	try {
		const cold = await runEngine(folder, 'cold-start', coldStart);
		const checkpoints = join(cold.folder, 'checkpoints');
		const checkpoint = join(checkpoints, (await readdir(checkpoints)).sort().at(-1) as string);
		const train = async (stage: { steps: number }, seed: number): Promise<EngineRun> =>
			runEngine(folder, `grpo-${seed}`, { ...common, seed, model: { path: checkpoint }, stages: [stage] });
		const twos: BatchFigures[] = [];
		const ones: BatchFigures[] = [];
		const others: number[] = [];
		const memory: number[] = [];
		for (let round = 1; round <= rounds; round++) {
			const trained = await train(two, round);
			twos.push(perBatch(trained, 2));
			if (Number.isFinite(trained.memory)) memory.push(trained.memory / 1e6);
			if (against !== null) others.push(await runOther(against, againstPattern));
			else ones.push(perBatch(await train(one, round), 1));
		}
		const measured = [
			...figures('engine/two_updates', twos),
			...(memory.length > 0 ? [{ name: 'engine/memory', unit: 'MB', samples: memory }] : []),
		];
		if (against === null) return [...measured, ...figures('engine/one_update', ones), ...(await compileTimes(rounds))];
		return [
			...measured,
			{ name: 'engine/other/step', unit: 's', samples: others },
			{
				name: 'engine/other/ratio',
				unit: 'times as fast',
				samples: others.map((other, i) => other / median(twos[i]?.seconds ?? [])),
			},
		];
	} finally {
		await rm(folder, { recursive: true, force: true });
	}
}

export const bench: Bench = {
	title:
		'3-digit addition, 4 layers of width 128, 16 prompts x 8 completions per generation batch; "two_updates" makes two ' +
		'updates of 64 rows at beta 0.02 and skips nothing, "one_update" makes one at beta 0 without dead groups',
	run,
};
