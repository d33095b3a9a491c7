import type { LossType } from '../../protocol/groupStages.ts';
import type { ScaleRewards } from '../grpo/advantages.ts';

/** Every kind of stage. */
export const stageTypes = [
	'pretrain',
	'sft',
	'grpo',
	'ppo',
	'rloo',
	'dpo',
	'reward-model',
	'process-reward-model',
	'value-model',
	'distill',
	'rejection-sampling',
] as const;
export type StageType = (typeof stageTypes)[number];

/** share: 0 to 1; rate: per second; nats: natural logarithms. */
export type MetricUnit = 'number' | 'share' | 'seconds' | 'tokens' | 'nats' | 'rate' | 'bytes' | 'celsius' | 'watts';

export const metricGroups = [
	'reward',
	'evaluation',
	'heads',
	'preferences',
	'policy',
	'clipping',
	'lengths',
	'optimiser',
	'speed',
	'time',
	'devices',
	'other',
] as const;
/** The charts a metric belongs to. */
export type MetricGroup = (typeof metricGroups)[number];

export const metricGroupTitles: Readonly<Record<MetricGroup, string>> = {
	reward: 'Reward',
	evaluation: 'Evaluation',
	heads: 'Heads',
	preferences: 'Preferences and judging models',
	policy: 'Policy',
	clipping: 'Clipping',
	lengths: 'Completion length',
	optimiser: 'Optimizer',
	speed: 'Speed',
	time: 'Where the time goes',
	devices: 'Devices',
	other: 'Other',
};

/** Which way a metric improves. */
export type BetterWay = 'up' | 'down';

export interface MetricInfo {
	/** Canonical name: that of TRL if TRL has the metric. */
	readonly name: string;
	readonly title: string;
	readonly unit: MetricUnit;
	/** What it was averaged or taken over: "completions of the generation batch". */
	readonly over: string;
	/** One or two sentences for display. */
	readonly explanation: string;
	/** Which way is good; null: neither by itself. */
	readonly better: BetterWay | null;
	readonly group: MetricGroup;
	/** Whether its axis is logarithmic unless the person says otherwise. */
	readonly logScale: boolean;
	/** The range in healthy runs, in words; null if it depends on the task. */
	readonly healthy: string | null;
	/** What a rise and a fall usually mean; null if nothing by themselves. */
	readonly rises: string | null;
	readonly falls: string | null;
	/** The name used by the trainer that wrote the run, if the context names one. */
	readonly own: OwnName | null;
	/** False for names missing from the catalog, described by their form alone. */
	readonly known: boolean;
}

/** A metric as defined by one trainer. */
export interface OwnName {
	/** Display name of the trainer: "TRL". */
	readonly trainer: string;
	/** The trainer's names for the metric; several if versions differ. */
	readonly names: readonly string[];
	/** Sentences on how its definition differs. */
	readonly differs: readonly string[];
	/** A similar catalog metric with a different definition; null if it is the same metric. */
	readonly akinTo: string | null;
}

/** Stage settings on which the meaning of some metrics depends; absent: unknown. */
export interface MetricContext {
	readonly stage?: StageType | null;
	readonly lossType?: LossType | null;
	readonly beta?: number | null;
	readonly scaleRewards?: ScaleRewards | null;
	/** Updates per generation batch: num_iterations x steps_per_generation. */
	readonly updatesPerBatch?: number | null;
	/** The importer format of the run, which identifies the trainer. */
	readonly format?: string | null;
}
