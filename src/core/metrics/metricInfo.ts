import type { LossType } from '../../protocol/recipeKeys/lossTypes.ts';
import type { AdvantageKind } from '../grpo/advantages/advantageSettings.ts';

/** All stage types. */
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

/** `share` is 0 to 1, `rate` is per second, and `nats` uses natural logarithms. */
export type MetricUnit = 'number' | 'share' | 'seconds' | 'tokens' | 'nats' | 'rate' | 'bytes' | 'celsius' | 'watts';

export const metricGroups = [
	'reward',
	'evaluation',
	'heads',
	'preferences',
	'policy',
	'clipping',
	'lengths',
	'environment',
	'optimizer',
	'speed',
	'time',
	'devices',
	'other',
] as const;
/** Chart group of a metric. */
export type MetricGroup = (typeof metricGroups)[number];

export const metricGroupTitles: Readonly<Record<MetricGroup, string>> = {
	reward: 'Reward',
	evaluation: 'Evaluation',
	heads: 'Heads',
	preferences: 'Preferences and judge models',
	policy: 'Policy',
	clipping: 'Clipping',
	lengths: 'Completion length',
	environment: 'Environment',
	optimizer: 'Optimizer',
	speed: 'Speed',
	time: 'Time breakdown',
	devices: 'Devices',
	other: 'Other',
};

/** Direction in which a metric improves. */
export type BetterWay = 'up' | 'down';

export interface MetricInfo {
	/** Canonical name, which is TRL's name if TRL has the metric. */
	readonly name: string;
	readonly title: string;
	readonly unit: MetricUnit;
	/** What the metric is averaged or taken over, such as "completions in the generation batch". */
	readonly over: string;
	/** One or two sentences for display. */
	readonly explanation: string;
	/** Better direction, or null if neither is better on its own. */
	readonly better: BetterWay | null;
	readonly group: MetricGroup;
	/** Whether the axis is logarithmic by default; the user can override it. */
	readonly logScale: boolean;
	/** Description of the range in healthy runs, or null if it depends on the task. */
	readonly healthy: string | null;
	/** Usual meaning of a rise and of a fall, or null if they mean nothing on their own. */
	readonly rises: string | null;
	readonly falls: string | null;
	/** Name in the trainer that wrote the run, if the context specifies one. */
	readonly own: OwnName | null;
	/** Whether the name is in the catalog. If not, it is described based on its format alone. */
	readonly known: boolean;
}

/** A metric as defined by one trainer. */
export interface OwnName {
	/** Display name of the trainer, such as "TRL". */
	readonly trainer: string;
	/** The trainer's names for the metric; more than one if they vary by version. */
	readonly names: readonly string[];
	/** Sentences that explain how the trainer's definition differs. */
	readonly differs: readonly string[];
	/** Similar catalog metric with a different definition, or null if it is the same metric. */
	readonly akinTo: string | null;
}

/** Stage settings that affect the meaning of some metrics. Absent if unknown. */
export interface MetricContext {
	readonly stage?: StageType | null;
	readonly lossType?: LossType | null;
	readonly beta?: number | null;
	readonly advantages?: AdvantageKind | null;
	/** Number of updates per generation batch: num_iterations x steps_per_generation. */
	readonly updatesPerBatch?: number | null;
	/** Importer format of the run, which identifies its trainer. */
	readonly format?: string | null;
}
