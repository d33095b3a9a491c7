import * as v from 'valibot';
import { choice, count, described, real, text } from './recipeFields.ts';
import { derivedKey, group, key, live, place, withFacts } from './recipeKey.ts';

/** Keys shared by recipe stages. */

const noOptimizer = 'which the embedded engine does not use: set "engine": "pytorch" or remove it.';

export const until = described(
	group({
		heldOutAccuracy: real('Ends the stage once held-out accuracy on sampled completions reaches this value.', 0, 1),
		every: key(count('Steps between evaluations.'), 20),
		problems: key(count('Held-out problems per evaluation.', 1, 100_000), 256),
	}),
	'Ends the stage early when a metric reaches a target.',
);

export const schedulerNames = ['constant', 'linear', 'cosine', 'constant_with_warmup'] as const;
export type SchedulerName = (typeof schedulerNames)[number];

const steps = withFacts(count('Max optimizer updates.', 1, 10_000_000), {
	alsoCalled: ['max_steps', 'num_steps', 'total_steps', 'total_training_steps', 'num_train_steps'],
});

const rates = {
	learning_rate: live(
		withFacts(real('Peak AdamW learning rate.', 0, 10), { alsoCalled: ['lr', 'actor_learning_rate'] }),
	),
	lr_scheduler_type: key(choice(schedulerNames, 'Learning rate schedule for the stage.'), 'constant_with_warmup', {
		alsoCalled: ['lr_scheduler', 'scheduler', 'lr_schedule'],
	}),
	warmup_steps: key(count('Number of updates over which the learning rate warms up linearly from 0.', 0), 0, {
		alsoCalled: ['warmup', 'num_warmup_steps', 'lr_warmup_steps'],
	}),
	max_grad_norm: key(real('Global gradient norm above which gradients are clipped; 0 disables clipping.', 0), 1, {
		alsoCalled: ['grad_clip', 'clip_grad', 'gradient_clipping', 'max_norm'],
	}),
	weight_decay: key(real('Decoupled weight decay for matrices.', 0, 10), 0),
	adam_beta1: key(real('AdamW beta1.', 0, 0.99999), 0.9),
	adam_beta2: key(real('AdamW beta2; 0.98 suits short runs.', 0, 0.99999), 0.999),
	adam_epsilon: key(real('AdamW epsilon.', 1e-20, 1), 1e-8),
	trainer: key(
		described(
			v.record(v.string(), v.unknown()),
			'pytorch and ray: additional options for the TRL trainer of this stage, validated against the installed TRL.',
		),
		(): undefined => undefined,
		{ maybe: true, lacking: { embedded: { say: `"trainer" contains TRL options, ${noOptimizer}` } } },
	),
};

/** Keys for stages that always run for their full number of steps. */
export const updates = { steps, until: derivedKey(v.null(), () => null), ...rates };

/** Keys for stages that can end early based on a metric. */
export const optimizer = { steps, until: key(until, null), ...rates };

/** Keys for stages that learn from completions sampled in batches by the policy. */
export const batches = {
	prompts_per_step: key(count('Prompts per generation batch.', 1, 65_536), 16, {
		alsoCalled: ['rollout_batch_size', 'train_prompt_bsz'],
	}),
	steps_per_generation: key(
		count('Number of parts into which a generation batch is split, with one update per part.', 1, 1024),
		1,
	),
	num_iterations: key(count('Passes over each generation batch (mu).', 1, 64), 1, {
		alsoCalled: ['ppo_epochs', 'num_ppo_epochs', 'mu'],
	}),
};

const longestEmbedded = 8192;

const temperature = (words: string) => live(key(real(words, 0.01, 100), 1));

/** Sampling settings for completions. */
export const sampling = {
	max_completion_length: key(
		count('Maximum completion length in tokens.', 1, 131_072),
		({ completionLength }): number => completionLength,
		{
			or: 'as required by the task; 64 for files',
			alsoCalled: ['max_new_tokens', 'max_tokens', 'max_response_length', 'response_length', 'generate_max_len'],
			lacking: {
				embedded: {
					when: (value) => Number(value) > longestEmbedded,
					say: `"max_completion_length" can be at most ${longestEmbedded} with the embedded engine: lower it, or set "engine": "pytorch".`,
				},
			},
		},
	),
	temperature: temperature('Sampling temperature.'),
};

/** Sampling settings for stages whose losses use log-probabilities. */
export const scoredSampling = {
	...sampling,
	temperature: temperature('Sampling temperature, also applied to log-probabilities.'),
};

/** Declares the number of completions per prompt. */
export const generations = (words: string, low: number, amount: number) =>
	key(count(words, low, 1024), amount, {
		alsoCalled: ['n', 'rollout_n', 'num_samples', 'n_samples_per_prompt', 'samples_per_prompt', 'group_size'],
	});

/** Declares the number of rows per update. */
export const batchSize = (words: string) =>
	key(count(words, 1, 65_536), 64, {
		alsoCalled: ['per_device_train_batch_size', 'train_batch_size', 'micro_batch_size'],
	});

/** Declares a hub dataset split, which the embedded engine cannot read. */
export const hubSplit = (words: string) => ({
	schema: text(words),
	lacking: {
		embedded: {
			when: () => true,
			say: '"split" applies to hub datasets, which only the pytorch engine reads: set "engine": "pytorch" or remove it.',
		},
	},
});

const split = hubSplit('Hub dataset split.');

/** Preference pairs for `dpo` and `reward-model`. */
export const pairsSchema = described(
	group({
		path: place('data', text('A JSONL, JSON, CSV or Parquet file, relative to the recipe, or a hub id.')),
		split: key(split.schema, 'train', { lacking: split.lacking }),
		prompt: key(
			text('Name of the prompt column; if the column is missing, the completions contain the prompt.'),
			'prompt',
		),
		chosen: key(text('Name of the column with the better completion.'), 'chosen'),
		rejected: key(text('Name of the column with the worse completion.'), 'rejected'),
		heldOutShare: key(real('Fraction of prompts to hold out, selected by hash.', 0.001, 0.9), 0.1),
	}),
	'Preference pairs.',
);
