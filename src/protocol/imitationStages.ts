import * as v from 'valibot';
import { languageNames } from './builtInRewards.ts';
import { choice, count, described, flag, real, text } from './recipeFields.ts';
import { optimiser } from './stageFields.ts';

/** Stages that learn from texts which are there, or that make such texts. */

export const corpusSchema = described(
	v.strictObject({
		path: text('A JSONL file with a column of texts, or a .txt file with one text a line, relative to the recipe.'),
		text: v.optional(text('Name of the column (default "text").')),
		heldOutShare: v.optional(real('Share of texts, by a hash, that only measure the loss (default 0.05).', 0.001, 0.9)),
	}),
	'Texts to learn (default: those that the dataset has itself).',
);

export const pretrainStageSchema = v.strictObject({
	type: described(v.literal('pretrain'), 'The next token of whole texts, from which a base model comes.'),
	...optimiser,
	corpus: v.optional(corpusSchema),
	workedShare: v.optional(
		real(
			'Share of rows that are worked solutions of the dataset, each as one text: prompt and completion (default 0.05).',
			0,
			1,
		),
	),
	batch_size: v.optional(count('Texts per update (default 64).', 1, 65_536)),
});

/** Where completions lie, and in which columns. */
const completionColumns = {
	path: text('A JSONL file, relative to the recipe; pytorch: also JSON, CSV or Parquet, or a hub id.'),
	split: v.optional(text('pytorch: split of a hub dataset (default "train").')),
	prompt: v.optional(text('Name of the prompt column (default "prompt").')),
	completion: v.optional(text('Name of the completion column (default "completion").')),
	answer: v.optional(text('Name of the answer column (default "answer"), where completions are rejected.')),
	solution: v.optional(
		text(
			'embedded: name of the column of solutions (default "solution"), which rows without a completion are made of.',
		),
	),
};

/** Completions that are there. */
export const completionsSchema = described(v.strictObject(completionColumns), 'Completions, each with its prompt.');

export const sftStageSchema = v.strictObject({
	type: described(v.literal('sft'), 'Cold start: imitation of worked solutions.'),
	...optimiser,
	data: v.optional(described(completionsSchema, 'Completions of a file (default: worked solutions of the dataset).')),
	batch_size: v.optional(count('Worked solutions per update (default 64).', 1, 65_536)),
});

export const distillStageSchema = v.strictObject({
	type: described(
		v.literal('distill'),
		'A teacher is imitated: its completions in a file, or its probabilities of every token.',
	),
	...optimiser,
	data: v.optional(
		described(
			completionsSchema,
			"The teacher's completions. Absent, with a teacher: completions of problems of the dataset.",
		),
	),
	minReward: v.optional(
		real(
			'Completions of "data" whose reward by the rewards of this recipe is below it are left out (default: none is).',
			-1e6,
			1e6,
		),
	),
	teacher: v.optional(
		described(
			v.strictObject({ path: text('A checkpoint folder of the embedded engine.') }),
			'embedded: a model whose probabilities are learned; of the same vocabulary.',
		),
	),
	temperature: v.optional(
		real('teacher: what divides the logits of both before they are compared (default 1).', 0.01, 100),
	),
	alpha: v.optional(
		real('teacher: share of cross-entropy with the completions; the rest is the divergence (default 0).', 0, 1),
	),
	on_policy: v.optional(
		flag('teacher, without data: the student writes the completions that they compare (default false: the teacher).'),
	),
	sampling_temperature: v.optional(
		real('teacher, without data: temperature of the completions (default 1).', 0.01, 100),
	),
	max_completion_length: v.optional(
		count(
			'teacher, without data: longest completion in tokens (default: what the task needs; 64 for a file).',
			1,
			8192,
		),
	),
	batch_size: v.optional(count('Completions per update (default 64).', 1, 65_536)),
});

const { split: _, ...columns } = completionColumns;

export const mostMixedIn = 100;
export const mixedInSchema = v.strictObject({
	...columns,
	share: v.optional(
		real('Share of the data that comes from this file, beside the kept completions (default: all rows).', 0, 0.99),
	),
});

export const rejectionSamplingStageSchema = v.strictObject({
	type: described(
		v.literal('rejection-sampling'),
		'Completions of the policy, of which the good ones become data; the policy stays as it is.',
	),
	problems: v.optional(count('Training problems that are answered (default 1000).', 1, 10_000_000)),
	num_generations: v.optional(count('Completions per problem (default 4).', 1, 1024)),
	prompts_per_step: v.optional(count('Problems per generation batch (default 16).', 1, 65_536)),
	max_completion_length: v.optional(
		count('Longest completion in tokens (default: what the task needs; 64 for a file).', 1, 8192),
	),
	temperature: v.optional(real('Sampling temperature (default 1).', 0.01, 100)),
	keep: v.optional(
		described(
			v.strictObject({
				correct: v.optional(flag('Only completions with a right answer (default true).')),
				minReward: v.optional(real('Only completions of at least this reward.', -1e6, 1e6)),
				language: v.optional(
					described(
						v.strictObject({
							language: choice(languageNames, 'The language, by its ISO 639-1 code.'),
							minShare: v.optional(real('Least share of words of the thinking (default 0.9).', 0, 1)),
						}),
						'Only completions whose thinking keeps to a language.',
					),
				),
				minTokens: v.optional(count('Only completions of at least so many tokens.')),
				maxTokens: v.optional(count('Only completions of at most so many tokens.')),
				perProblem: v.optional(count('Completions of one problem at most, the best by reward (default: all).')),
				duplicates: v.optional(
					choice(['drop', 'keep'], 'Completions of a problem that are the same but for white space (default drop).'),
				),
			}),
			'Which completions are kept; those that were cut off never are.',
		),
	),
	extra: v.optional(
		described(
			v.pipe(
				v.array(mixedInSchema, 'must be a list of {"path", "share"}'),
				v.maxLength(mostMixedIn, `has ${mostMixedIn} entries at most`),
			),
			'Files of completions that are mixed in.',
		),
	),
});
