import * as v from 'valibot';
import { choice, count, described, real, text } from './recipeFields.ts';

/** What the stages of a recipe share. */

export const until = described(
	v.strictObject({
		heldOutAccuracy: real('The stage ends once the held-out sampled accuracy reaches this.', 0, 1),
		every: v.optional(count('Steps between these measurements (default 20).')),
		problems: v.optional(count('Held-out problems per measurement (default 256).', 1, 100_000)),
	}),
	'Ends the stage early by a measured quantity, never by the clock.',
);

export const schedulerNames = ['constant', 'linear', 'cosine', 'constant_with_warmup'] as const;
export type SchedulerName = (typeof schedulerNames)[number];

export const updates = {
	steps: count('Optimizer updates at most.', 1, 10_000_000),
	learning_rate: real('Peak learning rate of AdamW.', 0, 10),
	lr_scheduler_type: v.optional(
		choice(schedulerNames, 'Shape of the learning rate over the stage (default constant_with_warmup).'),
	),
	warmup_steps: v.optional(count('Updates over which the rate rises linearly from 0.', 0)),
	max_grad_norm: v.optional(real('Global gradient norm above which gradients are scaled down (default 1).', 0)),
	weight_decay: v.optional(real('Decoupled weight decay on matrices (default 0).', 0, 10)),
	adam_beta1: v.optional(real('AdamW beta1 (default 0.9).', 0, 0.99999)),
	adam_beta2: v.optional(real('AdamW beta2 (default 0.999; 0.98 suits short runs).', 0, 0.99999)),
	adam_epsilon: v.optional(real('AdamW epsilon (default 1e-8).', 1e-20, 1)),
	trainer: v.optional(
		described(
			v.record(v.string(), v.unknown()),
			'pytorch and ray: further options of the TRL trainer of this stage by their own names, checked against the TRL that is installed.',
		),
	),
};

const { steps, ...rates } = updates;
/** Of the stages that may end by a measured quantity. */
export const optimiser = { steps, until: v.optional(until), ...rates };

/** Of pairs for `dpo` and `reward-model`. */
export const pairsSchema = described(
	v.strictObject({
		path: text('A JSONL, JSON, CSV or Parquet file, relative to the recipe, or a hub id.'),
		split: v.optional(text('Split of a hub dataset (default "train").')),
		prompt: v.optional(text('Name of the prompt column (default "prompt"; without it the texts are whole).')),
		chosen: v.optional(text('Name of the column with the better completion (default "chosen").')),
		rejected: v.optional(text('Name of the column with the worse completion (default "rejected").')),
		heldOutShare: v.optional(real('Share of prompts, by a hash, that only measure (default 0.1).', 0.001, 0.9)),
	}),
	'Pairs of a better and a worse completion.',
);
