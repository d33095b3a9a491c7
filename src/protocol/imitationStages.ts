import * as v from 'valibot';
import { count, described, real, text } from './recipeFields.ts';
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
