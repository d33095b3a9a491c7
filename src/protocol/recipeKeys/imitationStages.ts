import * as v from 'valibot';
import { languageNames } from './builtInRewards.ts';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { bareKey, derivedKey, group, key, type Lack, live, place, stageOf, withFacts } from './recipeKey.ts';
import { batches, batchSize, generations, hubSplit, optimizer, sampling } from './stageFields.ts';

/** Stages that train on existing text or generate it. */

export const corpusSchema = described(
	group({
		path: place(
			'file',
			text('JSONL file with a text column, or .txt file with one document per line, relative to the recipe.'),
		),
		text: key(text('Column name.'), 'text'),
		heldOutShare: key(real('Fraction of documents to hold out, selected by hash.', 0.001, 0.9), 0.05),
	}),
	'Text to train on.',
);

export const pretrainStageSchema = stageOf(
	'pretrain',
	'Next-token prediction on whole documents, which produces a base model.',
	{
		...optimizer,
		corpus: key(corpusSchema, null, { or: 'text in the dataset itself' }),
		workedShare: key(
			real(
				'Fraction of documents that are worked solutions from the dataset, with prompt and completion as a single document.',
				0,
				1,
			),
			0.05,
		),
		batch_size: batchSize('Documents per update.'),
	},
	{
		pytorch: {
			say: 'Only the embedded engine supports the "pretrain" stage. Set "engine": "embedded", or use "sft".',
		},
	},
);

const split = hubSplit('pytorch: split of a Hub dataset.');

/** Location and columns of completions. A path that is neither a file nor a folder is a Hub id. */
const completionKeys = {
	path: place(
		'data',
		text('JSONL file, relative to the recipe. pytorch: JSON, CSV, Parquet and Hub ids are also supported.'),
	),
	split: key(split.schema, 'train', { lacking: split.lacking }),
	prompt: key(text('Name of the prompt column.'), 'prompt'),
	completion: key(text('Name of the completion column.'), 'completion'),
	answer: key(text('Name of the answer column, for stages that reject completions.'), 'answer'),
	solution: key(
		text('embedded: name of the solution column, for rows without a completion.'),
		({ embedded }): string | undefined => (embedded ? 'solution' : undefined),
		{ or: '"solution"', maybe: true },
	),
};

export const completionsSchema = group(completionKeys);

export const demonstrationsSchema = group({
	gold: key(
		real(
			'Fraction of episodes that follow the solution in the row (its "calls"). In the other episodes, and in rows without a solution, calls are random.',
			0,
			1,
		),
		1,
	),
	maxTurns: key(count('Max number of turns in an episode.', 1, 1000), 10),
});

export const latentSchema = group({
	stages: count(
		'Number of steps that the last stage replaces. Stage k replaces the first k steps, starting with stage 0.',
		1,
		8,
	),
	thoughts_per_step: key(
		count('Latent thoughts in place of each step. With 0, steps are removed and not replaced, as a control.', 0, 4),
		1,
		{ alsoCalled: ['c_thought'] },
	),
	steps_per_stage: withFacts(
		count('Updates per stage. The last stage runs for all remaining updates.', 1, 10_000_000),
		{
			alsoCalled: ['epochs_per_stage'],
		},
	),
	separator: key(text('Text between the steps of a worked solution.'), ';'),
});

export const sftStageSchema = stageOf('sft', 'Cold start: supervised fine-tuning on worked solutions.', {
	...optimizer,
	data: key(described(completionsSchema, 'Completions from a file.'), null, {
		or: 'worked solutions in the dataset',
		late: true,
		lacking: {
			pytorch: {
				say: 'The pytorch engine trains on completions from a file in the "distill" stage. Use that stage instead.',
			},
		},
	}),
	demonstrations: bareKey(
		described(demonstrationsSchema, 'How to play the episodes to train on, in a recipe with an environment.'),
		{
			or: '{}',
			lacking: {
				pytorch: {
					say: 'The pytorch engine does not play demonstrations, because pretrained models can already call tools. Remove "demonstrations".',
				},
			},
		},
	),
	latent: bareKey(
		described(
			latentSchema,
			'Replace the first steps of worked solutions with latent thoughts, stage by stage (COCONUT). The optimizer is reset at the start of each stage.',
		),
		{
			or: 'all steps are written out',
			lacking: {
				pytorch: {
					say: 'Only the embedded engine trains latent thoughts. Remove "latent", or set "engine": "embedded".',
				},
			},
		},
	),
	batch_size: batchSize('Worked solutions per update.'),
});

const { max_completion_length } = sampling;
/** Returns whether a `distill` stage samples completions. */
export function distillSamples(stage: {
	readonly data?: unknown;
	readonly teacher?: unknown;
	readonly method?: unknown;
}): boolean {
	return ((stage.teacher ?? null) !== null || (stage.method ?? null) !== null) && (stage.data ?? null) === null;
}

/** Methods whose teacher is the policy itself. */
export const selfTaught = ['sdft', 'sdpo'] as const;

/** Keys that only TRL supports. */
function onlyTrl(key: string): Lack {
	return {
		when: () => true,
		say: `The embedded engine does not support "${key}". Remove it, or set "engine": "pytorch".`,
	};
}

export const distillStageSchema = stageOf(
	'distill',
	'Imitates a teacher, using either its completions in a file or its probabilities for every token.',
	{
		...optimizer,
		data: key(
			described(
				completionsSchema,
				"Teacher completions. If omitted and a teacher is set, completions are generated for the dataset's problems.",
			),
			null,
		),
		minReward: key(
			real('Skip completions in "data" whose reward under the recipe is below this value.', -1e6, 1e6),
			null,
			{ or: 'none are skipped' },
		),
		teacher: key(
			described(
				group({
					path: place('file', text('Checkpoint folder from the embedded engine or, with pytorch, a model folder.')),
				}),
				'Model whose probabilities are imitated. Must have the same vocabulary.',
			),
			null,
			{
				late: true,
				lacking: {
					pytorch: {
						when: (_, { on_policy, data, method }) =>
							(on_policy !== true && method === undefined) || data !== undefined,
						say: 'TRL compares probabilities on samples from the student. Add "on_policy": true and remove "data", or set "engine": "embedded".',
					},
				},
			},
		),
		method: bareKey(
			choice(
				['minillm', ...selfTaught],
				'pytorch: a different way to learn from the student\'s samples. "minillm" is a policy gradient for the reverse KL of whole completions, with "teacher" (MiniLLM). The others use the policy with a longer prompt as its own teacher: with "sdft", the prompt includes a dataset column (SDFT); with "sdpo", it includes a completion from the same group with a reward of at least 1 (SDPO).',
			),
			{ or: 'divergence `beta` per token', lacking: { embedded: onlyTrl('method') } },
		),
		privileged_context: bareKey(
			text(
				'method "sdft": what the teacher sees in addition to the prompt: "solution", "answer", or a dataset column. "teacher_prompt_template" in "trainer" combines both.',
			),
			{ or: '`"solution"`', lacking: { embedded: onlyTrl('privileged_context') } },
		),
		teacher_model_kind: bareKey(
			choice(
				['base', 'live', 'ema'],
				'method "sdft" or "sdpo": whether the teacher uses the weights from the start of the stage, the current weights, or a moving average.',
			),
			{ or: '`"base"` for sdft, `"ema"` for sdpo', lacking: { embedded: onlyTrl('teacher_model_kind') } },
		),
		num_generations: bareKey(count('method "sdpo": completions per problem. Must divide "batch_size".', 2, 4096), {
			or: '`8`',
			lacking: { embedded: onlyTrl('num_generations') },
		}),
		beta: bareKey(
			real(
				'pytorch, teacher: divergence to minimize. 0 is the forward KL, 1 is the reverse KL, and values in between are Jensen-Shannon divergences (GKD).',
				0,
				1,
			),
			{
				or: '`1`',
				lacking: {
					embedded: {
						when: () => true,
						say: 'The embedded engine minimizes the forward KL. Remove "beta", or set "engine": "pytorch".',
					},
				},
			},
		),
		temperature: live(key(real('teacher: divisor for the logits of both models.', 0.01, 100), 1, { late: true })),
		alpha: key(
			real('teacher: weight of the cross-entropy on the completions. The divergence gets the remaining weight.', 0, 1),
			0,
			{
				late: true,
				lacking: {
					pytorch: {
						when: (value) => value !== 0,
						say: 'TRL distills without cross-entropy on the completions. Remove "alpha", or set "engine": "embedded".',
					},
				},
			},
		),
		on_policy: key(flag('teacher, without data: sample completions from the student instead of the teacher.'), false, {
			late: true,
		}),
		sampling_temperature: key(real('teacher, without data: sampling temperature.', 0.01, 100), 1, {
			late: true,
			lacking: {
				pytorch: {
					when: (value, { temperature = 1 }) => value !== temperature,
					say: 'TRL samples at "temperature", which also divides the logits. Remove "sampling_temperature".',
				},
			},
		}),
		max_completion_length: key(
			count('teacher, without data: maximum completion length in tokens.', 1, 8192),
			({ completionLength }, stage): number | undefined => (distillSamples(stage) ? completionLength : undefined),
			{ ...max_completion_length.facts, maybe: true },
		),
		batch_size: batchSize('Completions per update.'),
	},
);

export const maxMixedIn = 100;
const { split: _, ...fileKeys } = completionKeys;
/** A file to mix in. It must be local, because only the embedded engine supports the stage. */
export const mixedInSchema = group({
	...fileKeys,
	split: derivedKey(v.string(), () => 'train'),
	share: key(real('Fraction of the data to take from this file.', 0, 0.99), null, { or: 'all rows' }),
});

export const rejectionSamplingStageSchema = stageOf(
	'rejection-sampling',
	"Saves the policy's good completions as training data, without training.",
	{
		problems: key(count('Number of training problems to answer.', 1, 10_000_000), 1000),
		num_generations: generations('Completions per problem.', 1, 4),
		prompts_per_step: batches.prompts_per_step,
		/** Number of generation batches. */
		steps: derivedKey(count('Number of generation batches.'), (_context, { problems, prompts_per_step }) =>
			Math.ceil(problems / prompts_per_step),
		),
		until: derivedKey(v.null(), () => null),
		...sampling,
		max_completion_length: key(
			count('Maximum completion length in tokens.', 1, 8192),
			max_completion_length.facts.default,
			max_completion_length.facts,
		),
		keep: key(
			described(
				group({
					correct: key(flag('Keep only completions with a correct answer.'), true),
					minReward: key(real('Minimum reward of a completion.', -1e6, 1e6), null),
					language: key(
						described(
							group({
								language: choice(languageNames, 'ISO 639-1 code of the language.'),
								minShare: key(
									real('Minimum fraction of words in the thinking section that are in that language.', 0, 1),
									0.9,
								),
							}),
							'Keep only completions whose thinking section is in a specific language.',
						),
						null,
					),
					minTokens: key(count('Minimum number of tokens in a completion.'), null),
					maxTokens: key(count('Maximum number of tokens in a completion.'), null),
					perProblem: key(count('Maximum number of completions per problem, selected by highest reward.'), null, {
						or: 'all',
					}),
					duplicates: key(
						choice(
							['drop', 'keep'],
							'Whether to drop or keep completions for the same problem that differ only in whitespace.',
						),
						'drop',
					),
				}),
				'Which completions to keep. Truncated and empty completions are never kept.',
			),
			{},
		),
		solution_pairs: bareKey(
			flag(
				'Also write preference pairs: the worked solution of a problem as chosen, each kept completion as rejected (SPIN).',
			),
			{ or: '`false`' },
		),
		extra: key(
			described(
				v.pipe(
					v.array(mixedInSchema, 'must be a list of {"path", "share"}'),
					v.maxLength(maxMixedIn, `must have at most ${maxMixedIn} entries`),
				),
				'Files with additional completions to mix in.',
			),
			(): never[] => [],
		),
	},
	{
		pytorch: { say: 'Only the embedded engine supports the "rejection-sampling" stage. Set "engine": "embedded".' },
	},
);
