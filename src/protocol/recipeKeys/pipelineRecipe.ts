import * as v from 'valibot';
import { datasetParts } from '../datasetPart.ts';
import { builtInRewardSchema, rewardModelOptions } from './builtInRewards.ts';
import { maxMixedIn, mixedInSchema, rejectionSamplingStageSchema } from './imitationStages.ts';
import {
	evaluationSchema,
	fileDatasetSchema,
	fileRewardSchema,
	modelSchema,
	type Recipe,
	recipeSchema,
	stageSchema,
	taskDatasetSchema,
	templateSchema,
} from './recipe.ts';
import { choice, count, described, real, text } from './recipeFields.ts';
import { bareKey, group, key, stageOf } from './recipeKey.ts';

/*
 * A pipeline is a recipe with named stages. Besides its own keys, each stage has an envelope that specifies its
 * starting point and its training data. The pipeline compiles to one ordinary single-stage recipe per stage, so engines
 * need no pipeline support. See docs/pipelines.md.
 */

export const checkpointChoices = ['last', 'best'] as const;
export type CheckpointChoice = (typeof checkpointChoices)[number];

const stageName = (words: string) => text(words);

const checkpointOf = v.strictObject({
	stage: stageName('Stage name.'),
	checkpoint: v.optional(choice(checkpointChoices, 'Which checkpoint to use, last or best (default: last).')),
});

const { path: _path, ...ofRewardModel } = rewardModelOptions.entries;
const rewardOfStage = v.strictObject({
	...ofRewardModel,
	...checkpointOf.entries,
	stage: stageName('The "reward-model" stage that trains it.'),
});
const stageRewardSchema = v.union(
	[v.variant('use', [...builtInRewardSchema.options, rewardOfStage], 'must name a built-in reward'), fileRewardSchema],
	'must be {"use", "name", "weight", ...options} or {"file", "name", "weight"}',
);

/** Loops only: takes its input from the previous round. */
const previous = stageName('In a loop: the stage from the previous round.');
const first = v.optional(stageName('With "previous": the stage to use in the first round (default: none).'));

const heldOutAccuracy = real('Skips the stage at or above this accuracy.', 0, 1);

/** Keys that every pipeline stage has in addition to those of its type. */
export const envelope = {
	name: v.optional(
		text('Stage name, also used for its folder in the pipeline. Name either all stages or none of them.'),
	),
	from: v.optional(
		described(
			v.union(
				[
					stageName('Stage name.'),
					checkpointOf,
					v.strictObject({ previous, first, checkpoint: checkpointOf.entries.checkpoint }),
				],
				'must be a stage name, {"stage", "checkpoint"}, or in a loop {"previous", "first", "checkpoint"}',
			),
			'Stage whose checkpoint this one starts from (default: its own "model", then the recipe model).',
		),
	),
	model: v.optional(described(modelSchema, 'Replaces the recipe model if "from" is not set.')),
	dataset: v.optional(
		described(
			v.union([taskDatasetSchema, fileDatasetSchema], 'must be {"task": ...}, {"path": ...} or {"preset": ...}'),
			'Replaces the recipe dataset.',
		),
	),
	rewards: v.optional(
		described(
			v.pipe(v.array(stageRewardSchema, 'must be a list of rewards'), v.minLength(1, 'needs at least one reward')),
			'Replaces the recipe rewards.',
		),
	),
	template: v.optional(described(templateSchema, 'Replaces the recipe template.')),
	evaluate: v.optional(described(evaluationSchema, 'Overrides the recipe evaluation settings.')),
	seed: v.optional(count('Replaces the recipe seed.', 0, 4294967295)),
	round: v.optional(
		described(
			v.strictObject({
				of: stageName('Name of the stage in the loop.'),
				number: count('Round number, starting at 1; 0 for the starting point of the first round.', 0, 1000),
			}),
			'Loop stage and round, for plots by round; set automatically for stages in a loop.',
		),
	),
	skipIf: v.optional(
		described(
			v.union(
				[
					v.strictObject({
						stage: stageName('Name of the stage whose held-out accuracy is checked.'),
						heldOutAccuracy,
					}),
					v.strictObject({ previous, first, heldOutAccuracy }),
					v.strictObject({
						stage: stageName('Name of the stage whose held-out accuracy is checked.'),
						notAbove: stageName(
							'Name of a baseline stage: skips the stage unless "stage" has a higher accuracy than the baseline.',
						),
					}),
				],
				'must be {"stage", "heldOutAccuracy"}, {"stage", "notAbove"}, or in a loop {"previous", "first", "heldOutAccuracy"}',
			),
			'Skips the stage if another stage is good enough; stages that start from a skipped stage use its starting point instead.',
		),
	),
	minutes: v.optional(
		real('Time limit for a training stage. At the limit, the stage saves a checkpoint and counts as finished.', 0.01),
	),
};
export const envelopeKeys = Object.keys(envelope) as (keyof typeof envelope)[];

/** Types of data that stages produce, each with its file in the stage's `data/` folder. */
export const dataKinds = ['completions', 'pairs', 'labels'] as const;
export type DataKind = (typeof dataKinds)[number];

/** Stage keys that can refer to another stage, and what each one uses from it. */
export const referenceKeys = {
	data: 'completions',
	pairs: 'pairs',
	labels: 'labels',
	teacher: 'checkpoint',
} as const satisfies Readonly<Record<string, DataKind | 'checkpoint'>>;
export type ReferenceKey = keyof typeof referenceKeys;

/** Stage keys with lists whose entries can refer to another stage, and what each entry uses from it. */
export const listReferenceKeys = {
	extra: 'completions',
	rewards: 'checkpoint',
} as const satisfies Readonly<Record<string, DataKind | 'checkpoint'>>;
export type ListReferenceKey = keyof typeof listReferenceKeys;

const sampled = {
	temperature: key(real('Sampling temperature.', 0, 100), 1),
	top_p: key(real('Nucleus sampling threshold.', 0, 1), 1),
	max_completion_length: bareKey(count('Maximum completion length in tokens.', 1, 131_072), {
		or: 'as many as fit in the context',
	}),
	concurrency: key(count('Concurrent requests.', 1, 256), 16),
};

const scorer = (words: string) =>
	bareKey(
		described(v.union([v.string(), v.record(v.string(), v.unknown())], 'must be a scorer name or {"use": ...}'), words),
	);

export const searchStageSchema = stageOf('search', 'Searches with a policy and writes training data.', {
	strategy: key(text('Strategy name.'), 'self-consistency'),
	params: bareKey(described(v.record(v.string(), v.unknown()), 'Strategy parameters.')),
	guide: scorer('Scorer for thoughts: value, process, majority, self-evaluation, ..., or {"use": ...}.'),
	judge: scorer('Scorer that selects among final nodes (default: the guide).'),
	split: key(
		described(
			v.union([v.string(), v.strictObject({ text: text('Text that ends a step.') })], 'must be a rule or {"text"}'),
			'Where a step ends.',
		),
		'lines',
	),
	budget: bareKey(
		described(
			group({
				nodes: bareKey(count('Max nodes per tree.')),
				tokens: bareKey(count('Max tokens per search.')),
				simulations: bareKey(count('Max simulations per search.')),
			}),
			'Search limits.',
		),
	),
	problems: key(count('Number of problems to search.', 1, 1_000_000), 200),
	part: key(choice(datasetParts, 'Which dataset problems to use.'), 'training'),
	export: key(
		described(
			v.pipe(v.array(choice(dataKinds, 'Type of data to write.')), v.minLength(1, 'needs at least one type of data')),
			'Outputs: completions, pairs, labels.',
		),
		['completions'],
		{ or: 'completions' },
	),
	keep: bareKey(choice(['best', 'correct', 'all'], 'Which solutions to keep from each search.'), {
		or: 'correct if gold answers are available, otherwise best',
	}),
	most: key(count('Max solutions per problem.', 1, 1024), 4),
	least: bareKey(real('Min reward for a solution to be kept.', -1e6, 1e6)),
	span: key(choice(['step', 'completion'], 'pairs: what to compare.'), 'completion'),
	pairs_per_problem: key(count('pairs: max pairs per node.', 1, 64), 1),
	margin: key(real('pairs: min difference between the values.', 0), 0),
	solutions: key(count('labels: number of solutions per problem to label step by step.', 1, 1000), 1),
	completions: key(count('labels: number of completions sampled from each step.', 1, 1000), 8),
	searches: key(count('Number of problems searched concurrently.', 1, 4096), 64),
	...sampled,
});

/** Ways to perturb the thinking before a policy answers again; see `src/core/trace/perturb.ts`. */
export const answeredPerturbations = [
	'cut-at-keyword',
	'remove-keywords',
	'corrupt-digits',
	'shuffle-steps',
	'delete-steps',
] as const;

export const evaluateStageSchema = stageOf(
	'evaluate',
	'Evaluates a policy: pass@1, pass@k and cons@k with confidence intervals.',
	{
		problems: key(count('Number of questions.', 1, 1_000_000), 256),
		part: key(choice(datasetParts, 'Which dataset problems to use.'), 'held-out'),
		samples: key(count('Completions per question.', 1, 1024), 1),
		protocol: bareKey(choice(['r1'], 'r1: defaults to temperature 0.6, top_p 0.95 and 16 samples (DeepSeek-R1).')),
		judge: scorer('Scorer that selects the best of k samples for best@k: value, process, ..., or {"use": ...}.'),
		category: bareKey(text('Column with the question category.')),
		perturb: bareKey(
			choice(
				answeredPerturbations,
				'Perturbs the thinking of every completion in this way, then lets the policy answer again from there. Shows whether answers depend on that part of the thinking.',
			),
		),
		...sampled,
	},
);

/** DeepSeek-R1 (Guo et al. 2025, section 3): temperature 0.6, top-p 0.95; pass@1 over several samples. */
export const evaluationProtocols = { r1: { temperature: 0.6, top_p: 0.95, samples: 16 } } as const;
export type SearchStage = v.InferOutput<typeof searchStageSchema>;
export type EvaluateStage = v.InferOutput<typeof evaluateStageSchema>;

/** Schema properties that this module inspects. */
interface Part {
	readonly type: string;
	readonly wrapped?: Part;
	readonly entries?: Readonly<Record<string, v.GenericSchema>>;
	readonly options?: readonly Part[];
	readonly facts?: unknown;
}

/** Lets a schema accept a stage reference in place of its path; the other keys are unchanged. */
function orStage(schema: v.GenericSchema, kind: DataKind | 'checkpoint'): v.GenericSchema {
	const outer = schema as unknown as Part;
	const inner = outer.type === 'optional' ? (outer.wrapped as Part) : outer;
	const plain = inner.type === 'union' ? (inner.options ?? []) : [inner];
	const { path: _, ...rest } = plain.find(({ entries }) => entries?.path !== undefined)?.entries ?? {};
	const reference = v.strictObject({
		stage: stageName(
			kind === 'checkpoint' ? 'Stage that produces the checkpoint.' : `Stage that produces these ${kind}.`,
		),
		...(kind === 'checkpoint' ? { checkpoint: checkpointOf.entries.checkpoint } : {}),
		...rest,
	});
	const { stage: _stage, ...beside } = reference.entries;
	const before = v.strictObject({ previous, first, ...beside });
	const description = v.getDescription(schema as never) ?? v.getDescription(inner as never);
	const union = v.union(
		[...plain, reference, before] as unknown as v.GenericSchema[],
		'must be {"path", ...}, or {"stage", ...} in a pipeline',
	);
	const whole = description === undefined ? union : described(union, description);
	return outer.type === 'optional' ? Object.assign(v.optional(whole), { facts: outer.facts }) : whole;
}

const { extra } = rejectionSamplingStageSchema.entries;
/** Additional files to mix in, which can come from other stages. */
const extraOfPipeline = v.optional(
	described(
		v.pipe(
			v.array(orStage(mixedInSchema, 'completions'), 'must be a list of {"path", "share"}'),
			v.maxLength(maxMixedIn, `must have at most ${maxMixedIn} entries`),
		),
		v.getDescription(extra) ?? v.getDescription(extra.wrapped) ?? '',
	),
);

/** Adds the pipeline envelope to a stage schema. */
function enveloped(stage: v.GenericSchema): v.GenericSchema {
	const entries = { ...(stage as unknown as Part).entries };
	for (const key of Object.keys(referenceKeys) as ReferenceKey[]) {
		if (entries[key] !== undefined) entries[key] = orStage(entries[key], referenceKeys[key]);
	}
	if (entries.extra !== undefined) entries.extra = extraOfPipeline;
	return v.strictObject({ ...entries, ...envelope });
}

/** All stage schemas that a recipe can use, named or not. */
const stageSchemas = [...stageSchema.options, searchStageSchema, evaluateStageSchema] as readonly v.GenericSchema[];

/** Stage types that the pipeline runner runs itself; engines run all others. */
export const runnerStages = ['search', 'evaluate'] as const;
export type RunnerStage = (typeof runnerStages)[number];
export const isRunnerStage = (type: string): type is RunnerStage => (runnerStages as readonly string[]).includes(type);

type Envelope = {
	readonly [K in keyof typeof envelope]?: v.InferOutput<NonNullable<(typeof envelope)[K]>>;
};

/** A pipeline stage: its envelope plus the keys of its type, some of which can refer to other stages. */
export interface PipelineStage extends Envelope {
	readonly type: string;
	readonly [key: string]: unknown;
}

const pipelineStageSchema = v.variant(
	'type',
	stageSchemas.map(enveloped) as never,
	`${String(stageSchema.message)}, or in a pipeline "search" or "evaluate"`,
) as unknown as v.GenericSchema<unknown, PipelineStage> & { readonly message: string };

/** Stages that repeat over several rounds. {@link expandLoops} expands them to ordinary stages. */
export const loopSchema = v.strictObject({
	loop: text('Loop name. Each round has its own copies of the stages, named NAME-1, NAME-2, ...'),
	times: count('Number of rounds, or the maximum number of rounds with "rising".', 1, 100),
	rising: v.optional(
		stageName(
			'Name of a stage in the loop. If its held-out accuracy does not rise from one round to the next, the remaining rounds are skipped.',
		),
	),
	stages: described(
		v.pipe(v.array(pipelineStageSchema, 'must be a list of stages'), v.minLength(1, 'needs at least one stage')),
		'Stages in each round. Names refer to stages in the same round or, with "previous", in the previous round.',
	),
});
export interface StageLoop {
	readonly loop: string;
	readonly times: number;
	readonly rising?: string | undefined;
	readonly stages: readonly PipelineStage[];
}
export const isLoop = (entry: PipelineStage | StageLoop): entry is StageLoop => 'loop' in entry;

/** Metrics that can be compared between evaluations. */
export const comparedMeasures = [
	'accuracy',
	'format',
	'one-language',
	'tokens',
	'reflection',
	'verification',
	'backtracking',
] as const;
export type ComparedMeasure = (typeof comparedMeasures)[number];

/** Possible claims about the difference between two evaluations. */
export const comparisonExpectations = ['above', 'below', 'not-below'] as const;
export type ComparisonExpectation = (typeof comparisonExpectations)[number];

export const comparisonSchema = v.strictObject({
	claim: text('Description of the claim, such as "RL above its cold start".'),
	stage: stageName('Name of an evaluation stage.'),
	against: stageName('Name of another evaluation stage with the same questions.'),
	measure: v.optional(
		choice(
			comparedMeasures,
			'Metric to compare: accuracy, correct format, single-language thinking, length, or reflection, verification or backtracking markers (default: accuracy).',
		),
	),
	category: v.optional(text('Compares only questions in this category.')),
	expect: v.optional(
		choice(
			comparisonExpectations,
			'above or below: the entire 95% interval of the difference is above or below 0; not-below: not significantly below (default: above).',
		),
	),
});
export type Comparison = v.InferOutput<typeof comparisonSchema>;

/** A recipe as users write it, with or without stage names. */
export const pipelineRecipeSchema = v.strictObject({
	...recipeSchema.entries,
	compare: v.optional(
		described(
			v.array(comparisonSchema, 'must be a list of comparisons'),
			'Comparisons for the pipeline report, paired by question.',
		),
	),
	stages: described(
		v.pipe(
			v.array(
				v.union(
					[pipelineStageSchema, loopSchema],
					`${String(pipelineStageSchema.message)}, or {"loop", "times", "stages"}`,
				),
				'must be a list of stages',
			),
			v.minLength(1, 'needs at least one stage'),
		),
		v.getDescription(recipeSchema.entries.stages) ?? '',
	),
});

/** A recipe with named stages, after loop expansion. */
export type PipelineRecipe = Omit<Recipe, 'stages'> & {
	readonly stages: readonly NamedStage[];
	readonly compare?: readonly Comparison[] | undefined;
};
export interface NamedStage extends PipelineStage {
	readonly name: string;
	readonly skipIf?: Extract<NonNullable<PipelineStage['skipIf']>, { readonly stage: string }>;
}

/**
 * Returns the previous-round stage that a value such as `{ "previous": "x" }` refers to, or null if it refers to none.
 */
export function previousOf(value: unknown): { readonly previous: string; readonly first?: string } | null {
	if (typeof value !== 'object' || value === null) return null;
	const { previous: name } = value as { readonly previous?: unknown };
	return typeof name === 'string' ? (value as { readonly previous: string }) : null;
}

/** Returns the stage that a value such as `{ "stage": "x" }` refers to, or null if it refers to none. */
export function referenceOf(value: unknown): { readonly stage: string; readonly checkpoint: CheckpointChoice } | null {
	if (typeof value === 'string') return { stage: value, checkpoint: 'last' };
	if (typeof value !== 'object' || value === null) return null;
	const { stage, checkpoint } = value as { readonly stage?: unknown; readonly checkpoint?: unknown };
	if (typeof stage !== 'string') return null;
	return { stage, checkpoint: checkpoint === 'best' ? 'best' : 'last' };
}
