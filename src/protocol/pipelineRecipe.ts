import * as v from 'valibot';
import { builtInRewardSchema, rewardModelOptions } from './builtInRewards.ts';
import { datasetParts } from './datasetPart.ts';
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
 * A pipeline is a recipe with named stages. Besides its own keys, each stage has an envelope that specifies where it
 * starts and what it learns from. The pipeline compiles to one ordinary single-stage recipe per stage, so engines need
 * no pipeline support. See docs/pipelines.md.
 */

export const checkpointChoices = ['last', 'best'] as const;
export type CheckpointChoice = (typeof checkpointChoices)[number];

const stageName = (words: string) => text(words);

const checkpointOf = v.strictObject({
	stage: stageName('Name of the stage.'),
	checkpoint: v.optional(choice(checkpointChoices, 'Its last or best checkpoint (default last).')),
});

const { path: _path, ...ofRewardModel } = rewardModelOptions.entries;
const rewardOfStage = v.strictObject({
	...ofRewardModel,
	...checkpointOf.entries,
	stage: stageName('The stage of type "reward-model" that trains it.'),
});
const stageRewardSchema = v.union(
	[v.variant('use', [...builtInRewardSchema.options, rewardOfStage], 'must name a built-in reward'), fileRewardSchema],
	'must be {"use", "name", "weight", ...options} or {"file", "name", "weight"}',
);

/** Loops only: takes its input from the previous round. */
const previous = stageName('In a loop: the stage of the previous round.');
const first = v.optional(stageName('With "previous": the stage to use in the first round (default: none).'));

const heldOutAccuracy = real('The stage is skipped at this accuracy or above.', 0, 1);

/** Keys that every pipeline stage has besides those of its type. */
export const envelope = {
	name: v.optional(text('Name of the stage in its pipeline, and of its folder; all stages have one, or none has.')),
	from: v.optional(
		described(
			v.union(
				[
					stageName('Name of the stage.'),
					checkpointOf,
					v.strictObject({ previous, first, checkpoint: checkpointOf.entries.checkpoint }),
				],
				'must be the name of a stage, {"stage", "checkpoint"}, or in a loop {"previous", "first", "checkpoint"}',
			),
			'The stage whose checkpoint this one starts from (default: its own "model", else that of the recipe).',
		),
	),
	model: v.optional(described(modelSchema, 'Replaces the model of the recipe, without "from".')),
	dataset: v.optional(
		described(
			v.union([taskDatasetSchema, fileDatasetSchema], 'must be {"task": ...}, {"path": ...} or {"preset": ...}'),
			'Replaces the dataset of the recipe.',
		),
	),
	rewards: v.optional(
		described(
			v.pipe(v.array(stageRewardSchema, 'must be a list of rewards'), v.minLength(1, 'needs at least one reward')),
			'Replaces the rewards of the recipe.',
		),
	),
	template: v.optional(described(templateSchema, 'Replaces the template of the recipe.')),
	evaluate: v.optional(described(evaluationSchema, 'Overrides of the evaluation settings of the recipe.')),
	seed: v.optional(count('Replaces the seed of the recipe.', 0, 4294967295)),
	round: v.optional(
		described(
			v.strictObject({
				of: stageName('Name of the stage in the loop.'),
				number: count('Which round, from 1; 0: what the first round starts from.', 0, 1000),
			}),
			'Round and stage of a loop for plots by round; stages of a loop have theirs automatically.',
		),
	),
	skipIf: v.optional(
		described(
			v.union(
				[
					v.strictObject({
						stage: stageName('Name of the stage whose held-out accuracy decides.'),
						heldOutAccuracy,
					}),
					v.strictObject({ previous, first, heldOutAccuracy }),
					v.strictObject({
						stage: stageName('Name of the stage whose held-out accuracy decides.'),
						notAbove: stageName('Name of a stage: skips unless the accuracy of "stage" exceeds its accuracy.'),
					}),
				],
				'must be {"stage", "heldOutAccuracy"}, {"stage", "notAbove"}, or in a loop {"previous", "first", "heldOutAccuracy"}',
			),
			'Skips the stage if another one is good enough; stages that start from it then start where it would have.',
		),
	),
	minutes: v.optional(real('Time limit of a training stage, which then ends with a checkpoint, as finished.', 0.01)),
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
	max_completion_length: bareKey(count('Max completion length in tokens.', 1, 131_072), {
		or: 'what the context allows',
	}),
	concurrency: key(count('Concurrent requests.', 1, 256), 16),
};

const scorer = (words: string) =>
	bareKey(
		described(
			v.union([v.string(), v.record(v.string(), v.unknown())], 'must be the name of a scorer or {"use", ...}'),
			words,
		),
	);

export const searchStageSchema = stageOf('search', 'Searches with a policy and writes training data.', {
	strategy: key(text('A strategy by its name.'), 'self-consistency'),
	params: bareKey(described(v.record(v.string(), v.unknown()), 'Parameters of the strategy.')),
	guide: scorer('Scorer of thoughts: value, process, majority, self-evaluation, ..., or {"use", ...}.'),
	judge: scorer('Scorer that chooses among final nodes (default: the guide).'),
	split: key(
		described(
			v.union([v.string(), v.strictObject({ text: text('The text that ends a step.') })], 'must be a rule or {"text"}'),
			'Where a step ends.',
		),
		'lines',
	),
	budget: bareKey(
		described(
			group({
				nodes: bareKey(count('Nodes of a tree.')),
				tokens: bareKey(count('Tokens of a search.')),
				simulations: bareKey(count('Simulations of a search.')),
			}),
			'Limits of a search.',
		),
	),
	problems: key(count('Problems to search.', 1, 1_000_000), 200),
	part: key(choice(datasetParts, 'Which problems of the dataset.'), 'training'),
	export: key(
		described(
			v.pipe(v.array(choice(dataKinds, 'A kind of data.')), v.minLength(1, 'needs at least one kind of data')),
			'Outputs: completions, pairs, labels.',
		),
		['completions'],
		{ or: 'completions' },
	),
	keep: bareKey(choice(['best', 'correct', 'all'], 'Which solutions of a search to keep.'), {
		or: 'correct, where a gold answer can tell; else best',
	}),
	most: key(count('Max solutions per problem.', 1, 1024), 4),
	least: bareKey(real('Min reward of solutions.', -1e6, 1e6)),
	span: key(choice(['step', 'completion'], 'pairs: unit to compare.'), 'completion'),
	pairs_per_problem: key(count('pairs: max per node.', 1, 64), 1),
	margin: key(real('pairs: min difference of the values.', 0), 0),
	solutions: key(count('labels: solutions of a problem whose steps are labeled.', 1, 1000), 1),
	completions: key(count('labels: completions from each step.', 1, 1000), 8),
	searches: key(count('Concurrent problems.', 1, 4096), 64),
	...sampled,
});

export const evaluateStageSchema = stageOf('evaluate', 'Measures a policy: pass@1, pass@k, cons@k with intervals.', {
	problems: key(count('Questions.', 1, 1_000_000), 256),
	part: key(choice(datasetParts, 'Which problems of the dataset.'), 'held-out'),
	samples: key(count('Completions of each question.', 1, 1024), 1),
	protocol: bareKey(choice(['r1'], 'r1: defaults of temperature 0.6, top_p 0.95 and 16 samples (DeepSeek-R1).')),
	judge: scorer('Scorer that chooses the best of k samples for best@k: value, process, ..., or {"use", ...}.'),
	category: bareKey(text('Column that names the kind of a question.')),
	...sampled,
});

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
			kind === 'checkpoint' ? 'The stage whose checkpoint this is.' : `The stage that makes these ${kind}.`,
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
			v.maxLength(maxMixedIn, `has ${maxMixedIn} entries at most`),
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
/** Loop stage and round that a stage was expanded from. */
export type StageRound = NonNullable<Envelope['round']>;

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
	loop: text('Name of the loop. Its stages are repeated as NAME-1, NAME-2, ..., each round on its own.'),
	times: count('Number of rounds; max with "rising".', 1, 100),
	rising: v.optional(
		stageName(
			'Name of a stage of the loop: once its held-out accuracy does not rise from round to round, the rest is skipped.',
		),
	),
	stages: described(
		v.pipe(v.array(pipelineStageSchema, 'must be a list of stages'), v.minLength(1, 'needs at least one stage')),
		'Stages of a round. Names refer to the same round, or with "previous" to the previous one.',
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
export const comparedMeasures = ['accuracy', 'format', 'one-language', 'tokens', 'reflection'] as const;
export type ComparedMeasure = (typeof comparedMeasures)[number];

/** Possible claims about the difference between two evaluations. */
export const comparisonExpectations = ['above', 'below', 'not-below'] as const;
export type ComparisonExpectation = (typeof comparisonExpectations)[number];

export const comparisonSchema = v.strictObject({
	claim: text('The claim in words, such as "RL above its cold start".'),
	stage: stageName('Name of an evaluation stage.'),
	against: stageName('Name of another one on the same questions.'),
	measure: v.optional(
		choice(
			comparedMeasures,
			'Measure to compare: accuracy, correct format, thinking in one language, length, marks of reflection (default accuracy).',
		),
	),
	category: v.optional(text('Only questions of this kind.')),
	expect: v.optional(
		choice(
			comparisonExpectations,
			'above or below: the whole 95% interval of the difference; not-below: not significantly below (default above).',
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
			'Comparisons in the report of the pipeline, question by question.',
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
