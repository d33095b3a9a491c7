import * as v from 'valibot';
import { builtInRewardSchema } from './builtInRewards.ts';
import { maxExcluded } from './excludedPrompts.ts';
import {
	distillStageSchema,
	pretrainStageSchema,
	rejectionSamplingStageSchema,
	sftStageSchema,
} from './imitationStages.ts';
import { ppoStageSchema } from './ppoStage.ts';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { trainingEngines } from './runRecord.ts';
import { scoringSchema } from './scoringSettings.ts';
import { optimiser, updates } from './stageFields.ts';
import { pytorchSchema, raySchema } from './torchRecipe.ts';
import { dpoStageSchema, rewardModelStageSchema, rlooStageSchema } from './torchStages.ts';

export { type SchedulerName, schedulerNames } from './stageFields.ts';

export const taskNames = [
	'addition',
	'arithmetic',
	'countdown',
	'base-conversion',
	'string',
	'modular',
	'bilingual',
] as const;
export type TaskName = (typeof taskNames)[number];

/** Datasets that are known by name; `src/core/dataset/presets.ts` says what each is. */
export const presetNames = ['gsm8k', 'math', 'aime', 'humaneval', 'mbpp', 'countdown'] as const;
export type PresetName = (typeof presetNames)[number];

export const operationNames = ['reverse', 'sort', 'both'] as const;
export const solutionLanguages = ['en', 'ru', 'mixed'] as const;
export const solutionStyles = ['full', 'varied'] as const;

export const taskDatasetSchema = v.strictObject({
	task: choice(
		taskNames,
		'A seeded task generator; problems never run out and the held-out ones are never trained on.',
	),
	digits: v.optional(count('Digits per operand (addition) or of the number (base-conversion).', 1, 9)),
	subtraction: v.optional(flag('addition: also subtraction.')),
	terms: v.optional(
		count('Operands of an expression (arithmetic), numbers (countdown), or steps of a chain (modular).', 2, 8),
	),
	largest: v.optional(count('Largest number that appears in a problem.', 2, 1_000_000)),
	base: v.optional(count('base-conversion: the target base.', 2, 16)),
	length: v.optional(count('string: length of the word.', 1, 64)),
	operation: v.optional(choice(operationNames, 'string: what to do with the word.')),
	modulus: v.optional(count('modular: the modulus.', 2, 1000)),
	general: v.optional(real('bilingual: share of words to turn round (general) among sums (reasoning).', 0, 1)),
	language: v.optional(
		choice(solutionLanguages, 'bilingual: language of worked solutions; mixed: of each word by itself.'),
	),
	style: v.optional(
		choice(solutionStyles, 'bilingual: all solutions worked out, or some too brief and some with a slip put right.'),
	),
});

export const fileDatasetSchema = v.strictObject({
	path: v.optional(
		text(
			'A file of rows (JSONL, JSON, CSV, TSV, Parquet or Arrow), a folder of Parquet files, or one that save_to_disk wrote, relative to the recipe; pytorch: or a hub id (default: that of "preset").',
		),
	),
	preset: v.optional(choice(presetNames, 'A known dataset, which says how rows are read, and its hub id.')),
	config: v.optional(text('pytorch: configuration of a hub dataset.')),
	split: v.optional(text('pytorch: split of a hub dataset (default "train").')),
	prompt: v.optional(text('Name of the prompt column (default "prompt").')),
	answer: v.optional(text('Name of the answer column (default "answer").')),
	solution: v.optional(text('Name of the column with a worked solution for the cold start (default "solution").')),
	heldOut: v.optional(
		text(
			'A file of problems that are never trained on, or a split of the hub dataset; without it a share is held out by a hash of the prompt.',
		),
	),
	heldOutShare: v.optional(
		real('Share of problems held out by hash when there is no heldOut file (default 0.1).', 0.001, 0.9),
	),
	exclude: v.optional(
		described(
			v.pipe(v.array(v.string()), v.maxLength(maxExcluded)),
			'Prompts whose rows are left out, such as rows with wrong answers; remove a prompt to use its rows again.',
		),
	),
});

export const modelSchema = v.union(
	[
		v.strictObject({
			layers: count('Decoder blocks.', 1, 48),
			width: count('Width of the residual stream; a multiple of heads.', 8, 4096),
			heads: count('Attention heads.', 1, 64),
			feedForward: v.optional(count('Width of the feed-forward layer (default 4 x width).', 8, 16384)),
			context: v.optional(
				count(
					'Longest prompt + completion in tokens (default: what the data and max_completion_length need).',
					8,
					8192,
				),
			),
		}),
		v.strictObject({
			path: text('A checkpoint folder of this engine, or a model folder or hub id for the pytorch engine.'),
			revision: v.optional(text('pytorch: branch, tag or commit of a hub model.')),
			template: v.optional(
				text('pytorch: a Jinja file, relative to the recipe, in place of the chat template of the model.'),
			),
		}),
	],
	'must be {"layers", "width", "heads"} or {"path"}',
);

export const templateNames = ['r1', 'r1-conversation', 'plain'] as const;
export const templateSchema = v.union(
	[
		v.picklist(templateNames),
		v.strictObject({
			prompt: text('Text around the problem; {prompt} stands for it.'),
			chat: v.optional(
				flag('pytorch: put the prompt as a user message through the chat template of the model (default false).'),
			),
			system: v.optional(text('pytorch: the system message before it, with "chat".')),
			think: v.nullable(v.tuple([v.string(), v.string()], 'must be ["open", "close"] or null')),
			answer: v.nullable(v.tuple([v.string(), v.string()], 'must be ["open", "close"] or null')),
		}),
	],
	`must be one of ${templateNames.map((n) => `"${n}"`).join(', ')} or {"prompt", "think", "answer"}`,
);

export const fileRewardSchema = v.strictObject({
	file: text('A reward file, relative to the recipe.'),
	name: v.optional(text('Which reward of the file (default: all of them).')),
	weight: v.optional(real('Weight in the sum (default: what the reward itself proposes, else 1).', -1e6, 1e6)),
});

export const rewardSchema = v.union(
	[builtInRewardSchema, fileRewardSchema],
	'must be {"use", "name", "weight", ...options} or {"file", "name", "weight"}',
);

/** The first four are the embedded engine's, too. */
export const lossTypes = ['grpo', 'bnpo', 'dr_grpo', 'dapo', 'cispo', 'sapo', 'luspo', 'vespo'] as const;
export type LossType = (typeof lossTypes)[number];
export const embeddedLossTypes = ['grpo', 'bnpo', 'dr_grpo', 'dapo'] as const satisfies readonly LossType[];
export type EmbeddedLossType = (typeof embeddedLossTypes)[number];

export const grpoStageSchema = v.strictObject({
	type: described(v.literal('grpo'), 'Group relative policy optimization.'),
	...optimiser,
	num_generations: v.optional(count('Completions per prompt, G (default 8).', 2, 1024)),
	prompts_per_step: v.optional(count('Prompts per generation batch (default 16).', 1, 65_536)),
	steps_per_generation: v.optional(
		count('Parts into which a generation batch is split, one update each (default 1).', 1, 1024),
	),
	num_iterations: v.optional(count('Passes over each generation batch, mu (default 1).', 1, 64)),
	max_completion_length: v.optional(
		count('Longest completion in tokens (default: what the task needs; 64 for a file).', 1, 131_072),
	),
	temperature: v.optional(real('Sampling temperature; log-probabilities are taken at it too (default 1).', 0.01, 100)),
	beta: v.optional(real('Weight of the KL term; 0 makes no reference forward at all (default 0).', 0, 1000)),
	epsilon: v.optional(real('Lower clip range of the ratio (default 0.2).', 0, 1)),
	epsilon_high: v.optional(real('Upper clip range of the ratio (default: epsilon).', 0, 100)),
	loss_type: v.optional(choice(lossTypes, 'How token losses are averaged (default dapo, as in TRL).')),
	scale_rewards: v.optional(
		choice(['group', 'batch', 'none'], 'Which standard deviation divides the advantages (default group).'),
	),
	mask_truncated_completions: v.optional(flag('Leave truncated completions out of the loss (default false).')),
	dynamic_sampling: v.optional(
		flag('Sample again in place of groups whose rewards are all equal (DAPO; default false).'),
	),
	max_resamples: v.optional(count('dynamic_sampling: further generation batches at most (default 3).', 1, 64)),
	skip_dead_groups: v.optional(
		flag('Leave groups without advantage out of the update where that is exact (default true).'),
	),
	control: v.optional(
		choice(['shuffle'], 'A control experiment: advantages are permuted over the batch, so nothing can be learned.'),
	),
});

/** What the two stages share that train a head beside the policy. */
const head = {
	...updates,
	labels: v.optional(
		described(
			v.strictObject({
				path: text(
					'A JSONL file, relative to the recipe: one {"prompt", "completions", "labels"} per line; a label of each step, true, false or 0 to 1.',
				),
				separator: v.optional(described(v.string(), 'What stands between two steps of the file (default "\\n").')),
				heldOutShare: v.optional(
					real('Share of prompts, by a hash, that only measure the head (default 0.1).', 0.001, 0.9),
				),
			}),
			'Learn from a file of labeled steps instead of completions of the policy.',
		),
	),
	batch_size: v.optional(count('labels: solutions of the file per update (default 64).', 1, 65_536)),
	prompts_per_step: v.optional(count('Problems per generation batch (default 16).', 1, 65_536)),
	steps_per_generation: v.optional(
		count('Parts into which a generation batch is split, one update each (default 1).', 1, 1024),
	),
	num_iterations: v.optional(count('Passes over each generation batch (default 1).', 1, 64)),
	max_completion_length: v.optional(
		count('Longest completion in tokens (default: what the task needs; 64 for a file).', 1, 131_072),
	),
	temperature: v.optional(real('Sampling temperature (default 1).', 0.01, 100)),
};

export const valueModelStageSchema = v.strictObject({
	type: described(
		v.literal('value-model'),
		'A value head: how likely a beginning of a completion comes to a right answer, from the outcomes of whole completions.',
	),
	...head,
	num_generations: v.optional(count('Completions per problem (default 8).', 1, 1024)),
});

export const estimationNames = ['soft', 'hard'] as const;

export const processStageSchema = v.strictObject({
	type: described(
		v.literal('process-reward-model'),
		'A process reward head: how good each step is, from completions that go on behind it (Math-Shepherd).',
	),
	...head,
	num_generations: v.optional(count('Solutions per problem whose steps are labeled (default 2).', 1, 1024)),
	completions: v.optional(count('Completions that go on from each step (default 8).', 1, 1024)),
	estimation: v.optional(
		choice(
			estimationNames,
			'A label of a step: the share of its completions that are right, or whether any is (default soft).',
		),
	),
	split: v.optional(
		described(
			v.union(
				[v.string(), v.strictObject({ text: text('The text that ends a step.') })],
				'must be the name of a rule or {"text"}',
			),
			'Where a step ends: lines, paragraphs, sentences, tokens-16 (any number), or a text (default lines).',
		),
	),
});

/** Which head a stage trains. */
export const headOfStage = {
	'value-model': 'value',
	'process-reward-model': 'process',
	'reward-model': 'reward',
	ppo: 'critic',
} as const;

export function trainsHead(type: Stage['type']): type is keyof typeof headOfStage {
	return Object.hasOwn(headOfStage, type);
}

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

export const recipeSchema = v.strictObject({
	$schema: v.optional(described(v.string(), 'Where the schema of recipes lies, for other editors.')),
	format: v.optional(described(v.literal(1, 'must be 1'), 'Version of the recipe format.'), 1),
	name: text('Name of the runs that this recipe starts.'),
	engine: v.optional(choice(trainingEngines, 'Who trains (default embedded).'), 'embedded'),
	device: v.optional(
		choice(deviceNames, 'What to compute on; auto takes the best that works here and says so.'),
		'auto',
	),
	workers: v.optional(count('Worker threads that share each batch (default: one per core).', 1, 256)),
	whenBusy: v.optional(choice(['queue', 'share'], 'What to do when another run uses the same device (default queue).')),
	seed: v.optional(count('Seed of everything random.', 0, 4294967295), 1),
	dataset: described(
		v.union([taskDatasetSchema, fileDatasetSchema], 'must be {"task": ...}, {"path": ...} or {"preset": ...}'),
		'Where the problems come from: a task generator or a file of rows.',
	),
	model: described(modelSchema, 'The policy: sizes of a new model, or where a trained one lies.'),
	pytorch: v.optional(described(pytorchSchema, 'How the pytorch and ray engines compute.')),
	ray: v.optional(described(raySchema, 'The cluster of the ray engine.')),
	template: v.optional(
		described(
			templateSchema,
			'How a problem is put and which tags its completion carries (default r1: think and answer tags, no words).',
		),
		'r1',
	),
	rewards: v.optional(
		described(
			v.pipe(v.array(rewardSchema, 'must be a list of rewards'), v.minLength(1, 'needs at least one reward')),
			'What a completion earns: the weighted sum of these (default: accuracy, and format with weight 0.2).',
		),
		[{ use: 'accuracy' }, { use: 'format', weight: 0.2 }],
	),
	scoring: v.optional(
		described(scoringSchema, 'What reward files may take, and how many failures a run goes on with.'),
	),
	stages: described(
		v.pipe(v.array(stageSchema, 'must be a list of stages'), v.minLength(1, 'needs at least one stage')),
		'What is done, in order: a base model from texts (pretrain), a cold start by imitation (sft), reinforcement learning (grpo), heads that search is guided by (value-model, process-reward-model). Steps are numbered through.',
	),
	evaluate: v.optional(
		described(
			v.strictObject({
				every: v.optional(count('Steps between evaluations (default 20).')),
				problems: v.optional(count('Held-out problems per evaluation (default 256).', 1, 100_000)),
				samples: v.optional(count('Completions per problem (default 1).', 1, 1024)),
				temperature: v.optional(real('Sampling temperature of evaluations (default 1).', 0, 100)),
			}),
			'How well held-out problems are solved, and how often that is measured.',
		),
	),
	checkpoint: v.optional(
		described(
			v.strictObject({
				every: v.optional(count('Steps between checkpoints (default 50).')),
				keep: v.optional(count('How many of the newest checkpoints to keep beside the best (default 3).', 1, 10_000)),
			}),
			'How often weights and all state are saved.',
		),
	),
	log: v.optional(
		described(
			v.strictObject({
				rolloutsEvery: v.optional(count('Generation batches between rollout files (default 1: all).')),
				tokens: v.optional(flag('Also log each token with its log-probability and entropy (default true).')),
			}),
			'What is written beside the metrics.',
		),
	),
});

/** A recipe as a person writes it, checked. */
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
export type DpoStage = v.InferOutput<typeof dpoStageSchema>;
export type RewardModelStage = v.InferOutput<typeof rewardModelStageSchema>;
export type RejectionStage = v.InferOutput<typeof rejectionSamplingStageSchema>;
export type DistillStage = v.InferOutput<typeof distillStageSchema>;
export type Stage = v.InferOutput<typeof stageSchema>;
export type TemplateSpec = v.InferOutput<typeof templateSchema>;
