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
/** Which charts a metric belongs with. */
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
	/** The canonical name: TRL's where TRL has one. */
	readonly name: string;
	readonly title: string;
	readonly unit: MetricUnit;
	/** Over what it was averaged or taken: "completions of the generation batch". */
	readonly over: string;
	/** A sentence or two for a person. */
	readonly explanation: string;
	/** Which way is good; null: neither by itself. */
	readonly better: BetterWay | null;
	readonly group: MetricGroup;
	/** Whether its axis is logarithmic unless the person says otherwise. */
	readonly logScale: boolean;
	/** Where it lies in runs that go well, in words; null: that depends on the task. */
	readonly healthy: string | null;
	/** What it usually means when it rises, and when it falls; null: nothing by itself. */
	readonly rises: string | null;
	readonly falls: string | null;
	/** What the trainer calls it that wrote the run, where the context names one. */
	readonly own: OwnName | null;
	/** False: a name that the catalog does not know, described by its form alone. */
	readonly known: boolean;
}

/** A metric as one trainer has it. */
export interface OwnName {
	/** The trainer for a person: "TRL". */
	readonly trainer: string;
	/** Its names for the metric: several where versions differ. */
	readonly names: readonly string[];
	/** Sentences: where its definition differs. */
	readonly differs: readonly string[];
	/** The metric of the catalog that it is akin to, without being it; null: it is the metric. */
	readonly akinTo: string | null;
}

/** Settings of the stage on which the meaning of some metrics depends; what is absent is not known. */
export interface MetricContext {
	readonly stage?: StageType | null;
	readonly lossType?: LossType | null;
	readonly beta?: number | null;
	readonly scaleRewards?: ScaleRewards | null;
	/** Updates per generation batch: num_iterations x steps_per_generation. */
	readonly updatesPerBatch?: number | null;
	/** Who wrote the run: the name of an importer's format. */
	readonly format?: string | null;
}
