import * as v from 'valibot';
import { choice, count, described, real, text } from './recipeFields.ts';
import { group, key, place, stageOf } from './recipeKey.ts';
import { batches, batchSize, generations, sampling, updates } from './stageFields.ts';

/** Stages that train a head on top of the policy, either on the policy's completions or on a file of labeled steps. */

const head = {
	...updates,
	labels: key(
		described(
			group({
				path: place(
					'file',
					text(
						'A JSONL file, relative to the recipe: one {"prompt", "completions", "labels"} per line; a label of each step, true, false or 0 to 1.',
					),
				),
				separator: key(described(v.string(), 'Separator of steps in the file.'), '\n'),
				heldOutShare: key(real('Held-out share of prompts, by a hash.', 0.001, 0.9), 0.1),
			}),
			'Learn from a file of labeled steps instead of completions of the policy.',
		),
		null,
	),
	batch_size: batchSize('labels: solutions of the file per update.'),
	...batches,
	...sampling,
};

export const valueModelStageSchema = stageOf(
	'value-model',
	'A value head: how likely a beginning of a completion comes to a right answer, from the outcomes of whole completions.',
	{ ...head, num_generations: generations('Completions per problem.', 1, 8) },
	{
		pytorch: {
			say: 'TRL trains no value model: set "engine": "embedded", or take "process-reward-model".',
		},
	},
);

export const estimationNames = ['soft', 'hard'] as const;

export const processStageSchema = stageOf(
	'process-reward-model',
	'A process reward head: how good each step is, from completions that go on behind it (Math-Shepherd).',
	{
		...head,
		num_generations: generations('Solutions per problem whose steps are labeled.', 1, 2),
		completions: key(count('Completions from each step.', 1, 1024), 8),
		estimation: key(
			choice(estimationNames, 'Label of a step: the share of correct completions, or whether any is correct.'),
			'soft',
		),
		split: key(
			described(
				v.union(
					[v.string(), v.strictObject({ text: text('The text that ends a step.') })],
					'must be the name of a rule or {"text"}',
				),
				'Where a step ends: lines, paragraphs, sentences, tokens-16 (any number), or a text.',
			),
			'lines',
		),
	},
	{
		pytorch: {
			when: (_, { labels }) => labels === undefined,
			say: 'TRL learns process rewards from labeled steps alone: add "labels", or set "engine": "embedded", which labels by completions.',
		},
	},
);

/** Head trained by each stage type. */
export const headOfStage = {
	'value-model': 'value',
	'process-reward-model': 'process',
	'reward-model': 'reward',
	ppo: 'critic',
} as const;

export function trainsHead(type: string): type is keyof typeof headOfStage {
	return Object.hasOwn(headOfStage, type);
}
