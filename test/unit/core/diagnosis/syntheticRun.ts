import { Random } from '../../../../src/base/random.ts';
import type { DiagnosisRun } from '../../../../src/core/diagnosis/diagnosisRun.ts';
import type { GroupFacts, StepFacts } from '../../../../src/core/diagnosis/stepFacts.ts';
import type { MetricsLine } from '../../../../src/protocol/metricsLine.ts';

export const ownRun: DiagnosisRun = {
	format: 'reasoning-lab',
	rewards: [
		{ name: 'accuracy', weight: 1 },
		{ name: 'format', weight: 0.2 },
	],
	stages: [
		{ type: 'sft', settings: { steps: 100 } },
		{
			type: 'grpo',
			settings: { learning_rate: 1e-4, temperature: 0.7, max_completion_length: 64, num_generations: 8 },
		},
	],
};

export const foreignRun: DiagnosisRun = { format: 'trl', rewards: [], stages: [] };

/** Returns the metric values for a batch. null as in metrics.jsonl; undefined if the row does not have the metric. */
export type Course = (batch: number, noise: (scale: number) => number) => Record<string, number | null | undefined>;

/** Returns a run's rows, one per batch, with seeded noise. */
export function rows(count: number, course: Course, { seed = 1, from = 1, stage = 'grpo' } = {}): MetricsLine[] {
	const random = Random.of(seed, 'synthetic run');
	const noise = (scale: number) => scale * (random.next() + random.next() + random.next() - 1.5);
	return Array.from({ length: count }, (_, i) => {
		const values = Object.entries(course(i, noise)).filter(([, value]) => value !== undefined);
		return {
			step: from + i,
			time: 1e9 + i,
			stage,
			values: Object.fromEntries(values) as Record<string, number | null>,
		};
	});
}

/** Healthy training: reward and accuracy rise together, entropy falls and levels off, length grows slightly. */
export const healthy: Course = (batch, noise) => {
	const learned = 1 - Math.exp(-batch / 80);
	const accuracy = 0.15 + 0.6 * learned + noise(0.08);
	const format = Math.min(1, 0.85 + 0.13 * learned + noise(0.03));
	return {
		reward: accuracy + 0.2 * format,
		reward_std: 0.45 + noise(0.03),
		'rewards/accuracy/mean': accuracy,
		'rewards/accuracy/std': 0.42 + noise(0.03),
		'rewards/format/mean': format,
		'rewards/format/std': 0.3 * (1 - learned) + 0.1,
		frac_reward_zero_std: Math.max(0, 0.1 + 0.3 * learned + noise(0.15)),
		entropy: 0.03 + 0.12 * Math.exp(-batch / 60) + noise(0.005),
		kl: 0.02 + 0.1 * learned + Math.abs(noise(0.02)),
		'completions/mean_length': 120 + 60 * learned + noise(8),
		'completions/clipped_ratio': Math.max(0, 0.03 + noise(0.03)),
		loss: noise(0.05),
		grad_norm: 1 + noise(0.5),
		'throughput/tokens': 25_000 + noise(9000),
		'sampling/sampling_logp_difference/mean': 1e-5,
		...(batch % 20 === 0
			? { 'eval/heldout/accuracy': Math.min(1, Math.max(0, 0.15 + 0.58 * learned + noise(0.03))) }
			: {}),
	};
};

/** The healthy run with some metrics replaced. */
export const but =
	(change: Course): Course =>
	(batch, noise) => ({ ...healthy(batch, noise), ...change(batch, noise) });

/** A group of incorrect, finished, parseable and distinct completions. `facts` overrides these defaults. */
export function group(facts: Partial<GroupFacts> = {}, size = 8): GroupFacts {
	const fill = <T>(value: T): T[] => Array.from({ length: size }, () => value);
	return {
		group: 0,
		index: Array.from({ length: size }, (_, i) => i),
		reward: fill(0),
		correct: fill(false),
		truncated: fill(false),
		answered: fill(true),
		repetition: fill(0.1),
		distinct: size,
		...facts,
	};
}

/** Repeats the same groups for many steps. */
export function steps(count: number, groups: readonly GroupFacts[], from = 1): StepFacts[] {
	return Array.from({ length: count }, (_, i) => ({
		step: from + i,
		groups: groups.map((facts, at) => ({ ...facts, group: at })),
	}));
}

/** A group with correct and incorrect completions. */
export const alive = group({
	reward: [1, 0, 0, 1, 0, 0, 0, 1],
	correct: [true, false, false, true, false, false, false, true],
});

export const fill = <T>(value: T, size = 8): T[] => Array.from({ length: size }, () => value);
