import * as v from 'valibot';
import { languageNames } from './builtInRewards.ts';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { derivedKey, group, key, live, place, stageOf } from './recipeKey.ts';
import { batches, batchSize, generations, hubSplit, optimizer, sampling } from './stageFields.ts';

/** Stages that train on existing texts, or that generate such texts. */

export const corpusSchema = described(
	group({
		path: place(
			'file',
			text('A JSONL file with a column of texts, or a .txt file with one text a line, relative to the recipe.'),
		),
		text: key(text('Name of the column.'), 'text'),
		heldOutShare: key(real('Held-out share of texts, by a hash.', 0.001, 0.9), 0.05),
	}),
	'Texts to learn.',
);

export const pretrainStageSchema = stageOf(
	'pretrain',
	'Next-token prediction on whole texts, which makes a base model.',
	{
		...optimizer,
		corpus: key(corpusSchema, null, { or: 'those that the dataset has itself' }),
		workedShare: key(
			real('Share of worked solutions of the dataset, each as one text: prompt and completion.', 0, 1),
			0.05,
		),
		batch_size: batchSize('Texts per update.'),
	},
	{
		pytorch: {
			say: 'The stage "pretrain" is the embedded engine\'s: set "engine": "embedded", or take "sft".',
		},
	},
);

const split = hubSplit('pytorch: split of a hub dataset.');

/** Location and columns of completions. A path that is neither a file nor a folder is a Hub id. */
const completionKeys = {
	path: place('data', text('A JSONL file, relative to the recipe; pytorch: also JSON, CSV or Parquet, or a hub id.')),
	split: key(split.schema, 'train', { lacking: split.lacking }),
	prompt: key(text('Name of the prompt column.'), 'prompt'),
	completion: key(text('Name of the completion column.'), 'completion'),
	answer: key(text('Name of the answer column, where completions are rejected.'), 'answer'),
	solution: key(
		text('embedded: name of the solution column, for rows without a completion.'),
		({ embedded }): string | undefined => (embedded ? 'solution' : undefined),
		{ or: '"solution"', maybe: true },
	),
};

export const completionsSchema = group(completionKeys);

export const sftStageSchema = stageOf('sft', 'Cold start: imitation of worked solutions.', {
	...optimizer,
	data: key(described(completionsSchema, 'Completions of a file.'), null, {
		or: 'worked solutions of the dataset',
		late: true,
		lacking: {
			pytorch: { say: 'The pytorch engine imitates completions of a file in "distill": take that stage.' },
		},
	}),
	batch_size: batchSize('Worked solutions per update.'),
});

const { max_completion_length } = sampling;
/** Returns whether a `distill` stage samples completions. */
export function distillSamples(stage: { readonly data?: unknown; readonly teacher?: unknown }): boolean {
	return (stage.teacher ?? null) !== null && (stage.data ?? null) === null;
}

export const distillStageSchema = stageOf(
	'distill',
	'Imitates a teacher: its completions in a file, or its probabilities of every token.',
	{
		...optimizer,
		data: key(
			described(
				completionsSchema,
				"The teacher's completions. Absent, with a teacher: completions of problems of the dataset.",
			),
			null,
		),
		minReward: key(
			real('Completions of "data" whose reward by the rewards of this recipe is below it are left out.', -1e6, 1e6),
			null,
			{ or: 'none is' },
		),
		teacher: key(
			described(
				group({ path: place('file', text('A checkpoint folder of the embedded engine.')) }),
				'embedded: a model with the same vocabulary whose probabilities are learned.',
			),
			null,
			{
				late: true,
				lacking: {
					pytorch: {
						say: 'TRL compares logits in no trainer that is used here: name completions of the teacher as "data", or set "engine": "embedded".',
					},
				},
			},
		),
		temperature: live(key(real('teacher: divisor of the logits of both models.', 0.01, 100), 1, { late: true })),
		alpha: key(real('teacher: share of cross-entropy with the completions; the rest is the divergence.', 0, 1), 0, {
			late: true,
		}),
		on_policy: key(flag('teacher, without data: the student instead of the teacher writes the completions.'), false, {
			late: true,
		}),
		sampling_temperature: key(real('teacher, without data: temperature of the completions.', 0.01, 100), 1, {
			late: true,
		}),
		max_completion_length: key(
			count('teacher, without data: max completion length in tokens.', 1, 8192),
			({ completionLength }, stage): number | undefined => (distillSamples(stage) ? completionLength : undefined),
			{ ...max_completion_length.facts, maybe: true },
		),
		batch_size: batchSize('Completions per update.'),
	},
);

export const maxMixedIn = 100;
const { split: _, ...fileKeys } = completionKeys;
/** A local file, because only the embedded engine supports the stage. */
export const mixedInSchema = group({
	...fileKeys,
	split: derivedKey(v.string(), () => 'train'),
	share: key(real('Share of the data from this file.', 0, 0.99), null, { or: 'all rows' }),
});

export const rejectionSamplingStageSchema = stageOf(
	'rejection-sampling',
	'Keeps good completions of the policy as data, without training.',
	{
		problems: key(count('Training problems to answer.', 1, 10_000_000), 1000),
		num_generations: generations('Completions per problem.', 1, 4),
		prompts_per_step: batches.prompts_per_step,
		/** Number of generation batches. */
		steps: derivedKey(count('Generation batches.'), (_context, { problems, prompts_per_step }) =>
			Math.ceil(problems / prompts_per_step),
		),
		until: derivedKey(v.null(), () => null),
		...sampling,
		max_completion_length: key(
			count('Max completion length in tokens.', 1, 8192),
			max_completion_length.facts.default,
			max_completion_length.facts,
		),
		keep: key(
			described(
				group({
					correct: key(flag('Only completions with a correct answer.'), true),
					minReward: key(real('Min reward of a completion.', -1e6, 1e6), null),
					language: key(
						described(
							group({
								language: choice(languageNames, 'The language, by its ISO 639-1 code.'),
								minShare: key(real('Min share of words of the thinking.', 0, 1), 0.9),
							}),
							'Only completions whose thinking is in one language.',
						),
						null,
					),
					minTokens: key(count('Min tokens of a completion.'), null),
					maxTokens: key(count('Max tokens of a completion.'), null),
					perProblem: key(count('Max completions per problem, the best by reward.'), null, { or: 'all' }),
					duplicates: key(
						choice(['drop', 'keep'], 'Completions of a problem that differ only in white space.'),
						'drop',
					),
				}),
				'Which completions to keep; truncated ones are never kept.',
			),
			{},
		),
		extra: key(
			described(
				v.pipe(
					v.array(mixedInSchema, 'must be a list of {"path", "share"}'),
					v.maxLength(maxMixedIn, `has ${maxMixedIn} entries at most`),
				),
				'Files of completions to mix in.',
			),
			(): never[] => [],
		),
	},
	{
		pytorch: { say: 'The stage "rejection-sampling" is the embedded engine\'s: set "engine": "embedded".' },
	},
);
