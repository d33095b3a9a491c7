import * as v from 'valibot';
import { maxExcluded } from '../excludedPrompts.ts';
import { trainingEngines } from '../runRecord.ts';
import { builtInRewardSchema } from './builtInRewards.ts';
import { environmentSchema } from './environmentRecipe.ts';
import { grpoStageSchema, rlooStageSchema } from './groupStages.ts';
import { processStageSchema, valueModelStageSchema } from './headStages.ts';
import {
	distillStageSchema,
	pretrainStageSchema,
	rejectionSamplingStageSchema,
	sftStageSchema,
} from './imitationStages.ts';
import { ppoStageSchema } from './ppoStage.ts';
import { dpoStageSchema, rewardModelStageSchema } from './preferenceStages.ts';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { bareKey, group, key, place, withFacts } from './recipeKey.ts';
import { scoringSchema } from './scoringSettings.ts';
import { type PrecisionName, precisionNames, pytorchSchema, raySchema } from './torchRecipe.ts';

export { type SchedulerName, schedulerNames } from './stageFields.ts';

export const taskNames = [
	'addition',
	'arithmetic',
	'countdown',
	'base-conversion',
	'string',
	'modular',
	'bilingual',
	'signs',
	'graph-path',
] as const;
export type TaskName = (typeof taskNames)[number];

/** Datasets with built-in presets; see `src/core/dataset/presets.ts`. */
export const presetNames = ['gsm8k', 'math', 'aime', 'humaneval', 'mbpp', 'countdown'] as const;
export type PresetName = (typeof presetNames)[number];

export const operationNames = ['reverse', 'sort', 'both'] as const;
export const solutionLanguages = ['en', 'ru', 'mixed'] as const;
export const solutionStyles = ['full', 'varied'] as const;

export const taskDatasetSchema = v.strictObject({
	task: choice(
		taskNames,
		'A seeded task generator with an unlimited supply of problems; held-out problems are never trained on.',
	),
	digits: v.optional(count('Digits per operand (addition) or of the number (base-conversion).', 1, 9)),
	subtraction: v.optional(flag('addition: include subtraction.')),
	judged: v.optional(
		real(
			'addition: fraction of problems that show a sum (correct in half of them) and ask for a verdict: `12+34=46?` has the answer 1 or 0.',
			0,
			1,
		),
	),
	proposed: v.optional(
		real(
			'Fraction of prompts that show part of a problem and ask for the rest, for stages with "proposals". Sample answers: 34 for `12+?` (addition), +3*4 for `7?` (arithmetic), and (3+5)*2 for `3,5,2:?` (countdown).',
			0,
			1,
		),
	),
	terms: v.optional(
		count(
			'Operands per expression (arithmetic), numbers (countdown, signs), steps per chain (modular), or edges per path (graph-path).',
			2,
			8,
		),
	),
	nodes: v.optional(count('graph-path: nodes in the graph; at least two for each node on a path.', 6, 26)),
	largest: v.optional(count('Largest number in a problem.', 2, 1_000_000)),
	base: v.optional(count('base-conversion: the target base.', 2, 16)),
	length: v.optional(count('string: word length.', 1, 64)),
	operation: v.optional(choice(operationNames, 'string: what to do with the word.')),
	modulus: v.optional(count('modular, signs: the modulus.', 2, 1000)),
	general: v.optional(real('bilingual: fraction of word reversals (general); the rest are sums (reasoning).', 0, 1)),
	language: v.optional(
		choice(solutionLanguages, 'bilingual: language of worked solutions; mixed chooses one for each word.'),
	),
	style: v.optional(
		choice(
			solutionStyles,
			'full: all solutions are worked out in full. varied: some are too brief and some contain a corrected mistake (bilingual), or most make a single attempt, even if it misses (signs).',
		),
	),
});

const pytorchOnly = 'set "engine": "pytorch" or remove it.';
const ofHub = (name: string) => ({
	embedded: { say: `"${name}" applies to hub datasets, which only the pytorch engine reads: ${pytorchOnly}` },
});
const ofTorchModels = (name: string) => ({
	embedded: { say: `"${name}" applies to pytorch models: ${pytorchOnly}` },
});
const ofChat = (name: string) => ({
	embedded: {
		say: `"${name}" needs a chat template, which embedded models do not have: ${pytorchOnly}`,
	},
});

export const fileDatasetSchema = group({
	path: key(
		text(
			'A data file (JSONL, JSON, CSV, TSV, Parquet or Arrow), a folder of Parquet files, or a save_to_disk folder, relative to the recipe; with pytorch, also a hub id.',
		),
		(): string => '',
		{ or: 'set by "preset"' },
	),
	preset: bareKey(choice(presetNames, 'A known dataset, which determines the hub id and how rows are read.')),
	config: bareKey(text('pytorch: hub dataset configuration.'), { lacking: ofHub('config') }),
	split: bareKey(text('pytorch: hub dataset split.'), { or: '"train"', lacking: ofHub('split') }),
	prompt: key(text('Name of the prompt column.'), 'prompt'),
	answer: key(text('Name of the answer column.'), 'answer'),
	solution: key(text('Name of the column with a worked solution for the cold start.'), 'solution'),
	image: bareKey(
		text(
			'pytorch: name of the column with an image for each prompt: a path relative to the dataset folder, or an image.',
		),
		{ lacking: { embedded: { say: `"image" needs a vision-language model: ${pytorchOnly}` } } },
	),
	heldOut: key(
		text(
			'A file of problems that are never trained on, or a split of the hub dataset; if omitted, a fraction is held out by prompt hash.',
		),
		null,
	),
	heldOutShare: key(real('Fraction of problems held out by hash if there is no "heldOut" file.', 0.001, 0.9), 0.1),
	exclude: bareKey(
		described(
			v.pipe(v.array(v.string()), v.maxLength(maxExcluded)),
			'Prompts whose rows are skipped, for example because their answers are wrong; remove a prompt to use its rows again.',
		),
	),
});

export const newModelSchema = group({
	layers: count('Decoder blocks.', 1, 48),
	width: count('Width of the residual stream; a multiple of heads.', 8, 4096),
	heads: count('Attention heads.', 1, 64),
	feedForward: key(count('Width of the feed-forward layer.', 8, 16384), (_context, { width }): number => 4 * width, {
		or: '4 x width',
	}),
	context: key(count('Max tokens in prompt plus completion.', 8, 8192), null, {
		or: 'as required by the data and max_completion_length',
	}),
});

export const givenModelSchema = group({
	path: place(
		'model',
		text('A checkpoint folder from this engine, or a model folder or hub id for the pytorch engine.'),
	),
	revision: bareKey(text('pytorch: branch, tag or commit of a hub model.'), { lacking: ofTorchModels('revision') }),
	template: bareKey(
		place('file', text("pytorch: a Jinja file, relative to the recipe, that replaces the model's chat template.")),
		{ lacking: ofTorchModels('template') },
	),
});

export const modelSchema = v.union(
	[newModelSchema, givenModelSchema],
	'must be {"layers", "width", "heads"} or {"path"}',
);

const tagPair = (words: string) => described(v.tuple([v.string(), v.string()], 'must be ["open", "close"]'), words);
const ofCalls = (name: string) => ({
	pytorch: {
		say: `"${name}" applies to the embedded engine; a pytorch model's chat template has its own. Remove it.`,
	},
});

export const templateNames = ['r1', 'r1-conversation', 'plain'] as const;
export const templateSchema = v.union(
	[
		v.picklist(templateNames),
		v.strictObject({
			prompt: text('Prompt text; {prompt} is replaced by the problem.'),
			chat: bareKey(flag("pytorch: format the prompt as a user message using the model's chat template."), {
				or: 'false',
				lacking: ofChat('chat'),
			}),
			system: bareKey(text('pytorch: system message before the user message, with "chat".'), {
				lacking: ofChat('system'),
			}),
			think: v.nullable(v.tuple([v.string(), v.string()], 'must be ["open", "close"] or null')),
			answer: v.nullable(v.tuple([v.string(), v.string()], 'must be ["open", "close"] or null')),
			call: bareKey(tagPair('embedded: tags around tool calls, in a recipe with an environment.'), {
				or: '["<call>", "</call>"]',
				lacking: ofCalls('call'),
			}),
			result: bareKey(tagPair("embedded: tags around the environment's answers to tool calls."), {
				or: '["<result>", "</result>"]',
				lacking: ofCalls('result'),
			}),
		}),
	],
	`must be one of ${templateNames.map((n) => `"${n}"`).join(', ')} or {"prompt", "think", "answer"}`,
);

export const fileRewardSchema = v.strictObject({
	file: text('A reward file; the path is relative to the recipe.'),
	name: v.optional(text('Name of a single reward in the file (default: all rewards).')),
	weight: v.optional(real('Weight in the sum (default: the weight the reward suggests, otherwise 1).', -1e6, 1e6)),
});

export const rewardSchema = v.union(
	[builtInRewardSchema, fileRewardSchema],
	'must be {"use", "name", "weight", ...options} or {"file", "name", "weight"}',
);

export const stageSchema = v.variant(
	'type',
	[
		pretrainStageSchema,
		sftStageSchema,
		grpoStageSchema,
		ppoStageSchema,
		valueModelStageSchema,
		processStageSchema,
		rlooStageSchema,
		dpoStageSchema,
		rewardModelStageSchema,
		distillStageSchema,
		rejectionSamplingStageSchema,
	],
	'must be a stage of type "pretrain", "sft", "grpo", "ppo", "rloo", "dpo", "value-model", "process-reward-model", "reward-model", "distill" or "rejection-sampling"',
);

export const deviceNames = ['auto', 'cpu', 'cuda', 'webgpu', 'directml', 'coreml'] as const;
export type DeviceName = (typeof deviceNames)[number];

const embeddedDevices: readonly unknown[] = ['webgpu', 'directml', 'coreml'] satisfies DeviceName[];
const forEngine = (name: string) => ({
	embedded: {
		say: `"${name}" requires the engine "${name}", but this recipe uses "embedded": set "engine" or remove the key.`,
	},
});

/** Devices on which the embedded engine supports each precision; with `auto`, it tries these. */
const devicesWith: Readonly<Record<PrecisionName, readonly DeviceName[]>> = {
	float32: deviceNames,
	bfloat16: ['auto', 'cuda'],
	float16: ['auto', 'cuda', 'webgpu'],
};
const lacksPrecision = (value: unknown, { device }: Readonly<Record<string, unknown>>) =>
	!devicesWith[value as PrecisionName].some((name) => name === device);
const saysPrecision = (value: unknown) => {
	const names = devicesWith[value as PrecisionName].map((name) => `"${name}"`).join(', ');
	return `The embedded engine supports "${value}" only on these devices: ${names}. Change "device", or set "precision" to "float32".`;
};

export const evaluationSchema = group({
	every: key(count('Steps between evaluations.'), 20),
	problems: key(count('Held-out problems per evaluation.', 1, 100_000), 256),
	samples: key(count('Completions per problem.', 1, 1024), 1),
	temperature: key(real('Sampling temperature for evaluations.', 0, 100), 1),
});

export const checkpointSchema = group({
	every: key(count('Steps between checkpoints.'), 50),
	keep: key(count('Number of recent checkpoints to keep, in addition to the best.', 1, 10_000), 3),
});

export const logSchema = group({
	rolloutsEvery: key(count('Save rollouts every N generation batches; 1 saves all.'), 1),
	tokens: key(flag('Also log each token with its log-probability and entropy.'), true),
	states: key(flag("Also log a short form of the environment's state after each turn."), true, { late: true }),
});

export const busyChoices = ['queue', 'share'] as const;
export type BusyChoice = (typeof busyChoices)[number];

export const recipeSchema = v.strictObject({
	$schema: v.optional(described(v.string(), 'Path of the recipe schema, for use in other editors.')),
	format: v.optional(described(v.literal(1, 'must be 1'), 'Recipe format version.'), 1),
	name: text('Name for the runs that this recipe starts.'),
	engine: withFacts(v.optional(choice(trainingEngines, 'Training engine.'), 'embedded'), {
		alsoCalled: ['backend', 'framework'],
	}),
	device: withFacts(
		v.optional(choice(deviceNames, 'Compute device; auto picks the best one available on this machine.'), 'auto'),
		{
			lacking: {
				pytorch: {
					when: (value) => embeddedDevices.includes(value),
					say: (value) =>
						`PyTorch does not support the device "${value}": choose auto, cpu or cuda, or set "engine": "embedded".`,
				},
			},
		},
	),
	precision: bareKey(
		choice(
			precisionNames,
			'Type to which matrix multiplication operands are rounded; trained weights and optimizer state stay float32. The embedded engine supports bfloat16 on cuda, and float16 on cuda and webgpu.',
		),
		{
			or: 'float32 with the embedded engine; with pytorch, bfloat16 on GPUs that support it, otherwise float32',
			lacking: { embedded: { when: lacksPrecision, say: saysPrecision } },
		},
	),
	workers: bareKey(count('Worker threads that share each batch.', 1, 256), {
		or: 'one per core',
		lacking: {
			pytorch: {
				say: '"workers" sets the thread count of the embedded engine: set "processes" in "pytorch" (or "workers" in "ray") instead.',
			},
		},
	}),
	whenBusy: key(choice(busyChoices, 'What to do when another run uses the same device.'), 'queue'),
	seed: withFacts(v.optional(count('Seed for all randomness in the run.', 0, 4294967295), 1), {
		alsoCalled: ['random_seed'],
	}),
	dataset: withFacts(
		described(
			v.union([taskDatasetSchema, fileDatasetSchema], 'must be {"task": ...}, {"path": ...} or {"preset": ...}'),
			'Source of the problems: a task generator or a file of rows.',
		),
		{ alsoCalled: ['data', 'train_file', 'train_files', 'dataset_name', 'dataset_path', 'prompt_data'] },
	),
	model: withFacts(described(modelSchema, 'The policy: dimensions of a new model, or the location of a trained one.'), {
		alsoCalled: ['model_name_or_path', 'model_name', 'base_model', 'pretrain', 'model_path'],
	}),
	pytorch: bareKey(described(pytorchSchema, 'Settings for the pytorch and ray engines.'), {
		lacking: forEngine('pytorch'),
	}),
	ray: bareKey(described(raySchema, 'Cluster for the ray engine.'), { lacking: forEngine('ray') }),
	template: v.optional(
		described(
			templateSchema,
			'Prompt format and completion tags (default: r1, which has think and answer tags and no instructions).',
		),
		'r1',
	),
	rewards: withFacts(
		v.optional(
			described(
				v.pipe(v.array(rewardSchema, 'must be a list of rewards'), v.minLength(1, 'needs at least one reward')),
				'Rewards; each completion gets their weighted sum (default: accuracy, and format with weight 0.2).',
			),
			[{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
		),
		{ alsoCalled: ['reward', 'reward_funcs', 'reward_functions', 'reward_function'] },
	),
	environment: bareKey(
		described(
			environmentSchema,
			'Environment that the policy acts in. Its reward is the built-in "environment" reward.',
		),
	),
	scoring: key(
		described(scoringSchema, 'Limits for reward files, and the tolerated failure rate.'),
		{},
		{ late: true },
	),
	stages: described(
		v.pipe(v.array(stageSchema, 'must be a list of stages'), v.minLength(1, 'needs at least one stage')),
		'Stages in the order they run: a base model from raw text (pretrain), a cold start by imitation (sft), reinforcement learning (grpo), and heads that guide search (value-model, process-reward-model). Step numbers continue across stages.',
	),
	evaluate: key(
		described(evaluationSchema, 'Held-out evaluation settings.'),
		{},
		{ alsoCalled: ['eval', 'evaluation', 'eval_steps', 'test_freq'] },
	),
	checkpoint: key(
		described(checkpointSchema, 'How often to save weights and all other state.'),
		{},
		{ alsoCalled: ['save_steps', 'save_freq', 'checkpoints'] },
	),
	log: key(described(logSchema, 'What to log besides metrics.'), {}),
});

/** Union of all stage schemas. */
export type StageSchema = (typeof stageSchema.options)[number];

/** A validated recipe, as written by the user. */
export type Recipe = v.InferOutput<typeof recipeSchema>;
export type TaskDataset = v.InferOutput<typeof taskDatasetSchema>;
export type FileDataset = v.InferOutput<typeof fileDatasetSchema>;
export type RewardSpec = v.InferOutput<typeof rewardSchema>;
export type PretrainStage = v.InferOutput<typeof pretrainStageSchema>;
export type SftStage = v.InferOutput<typeof sftStageSchema>;
export type GrpoStage = v.InferOutput<typeof grpoStageSchema>;
export type ValueModelStage = v.InferOutput<typeof valueModelStageSchema>;
export type ProcessStage = v.InferOutput<typeof processStageSchema>;
export type HeadStage = ValueModelStage | ProcessStage;
export type PpoStage = v.InferOutput<typeof ppoStageSchema>;
export type RlooStage = v.InferOutput<typeof rlooStageSchema>;
export type RejectionStage = v.InferOutput<typeof rejectionSamplingStageSchema>;
export type DistillStage = v.InferOutput<typeof distillStageSchema>;
export type Stage = v.InferOutput<typeof stageSchema>;
export type TemplateSpec = v.InferOutput<typeof templateSchema>;
