import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Random } from '../../../../src/base/random.ts';
import { formatLine } from '../../../../src/files/jsonLines.ts';
import type { DashboardRun } from '../../../../src/protocol/dashboardMessages.ts';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';
import type { RunRecord } from '../../../../src/protocol/runRecord.ts';
import { runFiles } from '../../../../src/runs/runFiles.ts';
import { runRecord } from '../rollouts/rolloutsFixture.ts';

/** Start time of all synthetic runs. */
const start = 1_763_640_000;

const round = (value: number, digits = 6): number => Number(value.toPrecision(digits));

export interface MadeUpRun {
	/** Number of cold-start steps, followed by GRPO steps. */
	readonly sft?: number;
	readonly grpo?: number;
	readonly seed?: number;
	readonly evaluateEvery?: number;
	/** Extra values for every line, to test unknown names. */
	readonly extra?: (step: number) => Record<string, number | null>;
}

/** Generates synthetic metrics like an engine's, from a seed: a cold start, then GRPO that learns. */
export function* madeUpMetrics(options: MadeUpRun = {}): Generator<MetricsLine> {
	const { sft = 120, grpo = 400, seed = 1, evaluateEvery = 20, extra } = options;
	const random = Random.of(seed, 'dashboard');
	let time = start;
	let tokens = 0;
	for (let step = 1; step <= sft + grpo; step++) {
		const inSft = step <= sft;
		const progress = inSft ? step / Math.max(1, sft) : (step - sft) / grpo;
		const stepTime = (inSft ? 0.18 : 0.62 + 0.1 * progress) * (1 + 0.08 * random.normal());
		time += stepTime;
		tokens += inSft ? 1800 : 4200;
		const shared = {
			grad_norm: round(Math.exp((inSft ? 0.2 - progress : -0.6) + 0.25 * random.normal())),
			learning_rate: inSft ? 1e-3 * Math.min(1, step / 20) : 1e-4 * Math.min(1, (step - sft) / 10),
			num_tokens: tokens,
			step_time: round(stepTime),
		};
		const values: Record<string, number | null> = inSft
			? {
					loss: round(2.6 * Math.exp(-3.2 * progress) + 0.25 + 0.03 * random.normal()),
					entropy: round(1.6 * Math.exp(-2 * progress) + 0.3),
					...shared,
					'throughput/tokens': round(10_000 * (1 + 0.05 * random.normal())),
					'time/update': round(stepTime),
				}
			: grpoValues(progress, random, shared, stepTime);
		const last = step === sft || step === sft + grpo;
		if (last || step % evaluateEvery === 0) {
			const accuracy = inSft ? 0.36 * progress : 0.36 + 0.5 * (1 - Math.exp(-3 * progress));
			values['eval/heldout/accuracy'] = round(accuracy + 0.015 * random.normal(), 4);
			values['eval/heldout/accuracy_low'] = round(accuracy - 0.055, 4);
			values['eval/heldout/accuracy_high'] = round(accuracy + 0.055, 4);
			values['time/evaluate'] = round(0.9 + 0.1 * random.next());
		}
		if (step % 50 === 0) values['time/checkpoint'] = 0.04;
		yield { step, time: round(time, 14), stage: inSft ? 'sft' : 'grpo', values: { ...values, ...extra?.(step) } };
	}
}

function grpoValues(
	progress: number,
	random: Random,
	shared: Record<string, number>,
	stepTime: number,
): Record<string, number | null> {
	const accuracy = Math.min(1, Math.max(0, 0.36 + 0.52 * (1 - Math.exp(-3 * progress)) + 0.05 * random.normal()));
	const format = Math.min(1, 0.9 + 0.09 * progress + 0.01 * random.normal());
	const dead = Math.min(1, Math.max(0, 0.15 + 0.5 * progress + 0.08 * random.normal()));
	const length = 27 + 5 * progress + random.normal();
	const spread = Math.sqrt(Math.max(0, accuracy * (1 - accuracy)));
	return {
		loss: round(-0.02 + 0.05 * random.normal()),
		...shared,
		reward: round(accuracy + 0.2 * format),
		reward_std: round(spread),
		'rewards/accuracy/mean': round(accuracy),
		'rewards/accuracy/std': round(spread),
		'rewards/format/mean': round(format),
		'rewards/format/std': round(Math.sqrt(Math.max(0, format * (1 - format)))),
		frac_reward_zero_std: round(dead),
		kl: round(0.001 + 0.08 * progress * (1 + 0.2 * random.normal()) ** 2),
		entropy: round(0.42 * Math.exp(-1.4 * progress) + 0.02 * random.next()),
		'clip_ratio/low_mean': round(0.004 * random.next()),
		'clip_ratio/low_min': 0,
		'clip_ratio/high_mean': round(0.008 * random.next()),
		'clip_ratio/high_max': round(0.05 + 0.05 * random.next()),
		'clip_ratio/region_mean': round(0.012 * random.next()),
		'completions/mean_length': round(length),
		'completions/min_length': Math.round(length - 8 - 3 * random.next()),
		'completions/max_length': Math.min(40, Math.round(length + 9 + 3 * random.next())),
		'completions/clipped_ratio': round(Math.max(0, 0.05 - 0.05 * progress + 0.01 * random.next())),
		'completions/mean_terminated_length': round(length - 0.5),
		'completions/min_terminated_length': Math.round(length - 9),
		'completions/max_terminated_length': Math.round(length + 8),
		'throughput/tokens': round(11_000 * (1 + 0.05 * random.normal())),
		'throughput/completions': round(480 * (1 + 0.05 * random.normal())),
		'time/generate': round(stepTime * 0.45),
		'time/reward': round(stepTime * 0.02),
		'time/update': round(stepTime * 0.5),
		'sampling/sampling_logp_difference/mean': round(1.5e-6 * Math.exp(0.3 * random.normal())),
		'sampling/sampling_logp_difference/max': round(2e-5 * Math.exp(0.3 * random.normal())),
	};
}

const recipe = {
	format: 1,
	stages: [
		{ type: 'sft', steps: 120, learning_rate: 1e-3 },
		{
			type: 'grpo',
			steps: 400,
			loss_type: 'dapo',
			beta: 0.02,
			scale_rewards: 'group',
			num_iterations: 1,
			steps_per_generation: 1,
			num_generations: 8,
		},
	],
};

export interface WrittenRun extends MadeUpRun {
	readonly record?: Partial<RunRecord>;
	readonly events?: readonly object[];
	/** Lines that replace the synthetic ones. */
	readonly lines?: Iterable<MetricsLine>;
}

/** Writes a run folder with metrics and events. */
export async function writeMetricsRun(run: string, options: WrittenRun = {}): Promise<void> {
	await mkdir(run, { recursive: true });
	const lines: string[] = [];
	let last = 0;
	let time = start;
	for (const { step, time: at, stage, values } of options.lines ?? madeUpMetrics(options)) {
		lines.push(formatLine({ step, time: at, stage, ...values }));
		last = step;
		time = at;
	}
	await writeFile(join(run, runFiles.metrics), lines.join(''));
	await writeFile(join(run, runFiles.recipe), JSON.stringify(recipe));
	const sft = options.sft ?? 120;
	const events = options.events ?? [
		{ time: start, step: 0, type: 'stage', name: 'sft', index: 0 },
		{ time: start + 20, step: sft, type: 'stage', name: 'grpo', index: 1 },
		{ time: start + 60, step: sft + 100, type: 'checkpoint', path: 'checkpoints/step_000220', best: true },
		{
			time: start + 90,
			step: sft + 150,
			type: 'hyperparameters',
			changes: { learning_rate: 5e-5 },
			fromStep: sft + 151,
		},
		{ time: start + 120, step: sft + 200, type: 'alert', level: 'warning', message: 'Half of the groups are dead.' },
	];
	await writeFile(join(run, runFiles.events), events.map(formatLine).join(''));
	const record = runRecord({
		name: 'addition',
		status: 'finished',
		stage: last === 0 ? null : last <= sft ? 'sft' : 'grpo',
		step: last,
		totalSteps: 520,
		created: start,
		updated: time,
		heartbeat: time,
		device: 'cpu (2 workers)',
		...options.record,
	});
	await writeFile(join(run, runFiles.record), JSON.stringify(record));
}

/** Builds the live run that the webview receives; tests override what they need. */
export const madeUpRun = (changes: Partial<DashboardRun> = {}): DashboardRun => ({
	name: 'addition',
	status: 'running',
	fault: null,
	error: null,
	engine: 'Embedded',
	device: 'cpu (2 workers)',
	attempt: 1,
	stage: 'grpo',
	step: 4,
	totalSteps: 100,
	created: 1000,
	updated: 1100,
	now: 1200,
	stages: [],
	checkpoints: [],
	actions: ['pause', 'stop', 'openLog', 'openFolder'],
	...changes,
});
