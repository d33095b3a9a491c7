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
						'JSONL file, relative to the recipe, with one {"prompt", "completions", "labels"} per line. Each step has a label: true, false or a number from 0 to 1.',
					),
				),
				separator: key(described(v.string(), 'Step separator in the file.'), '\n'),
				heldOutShare: key(real('Fraction of prompts to hold out, selected by hash.', 0.001, 0.9), 0.1),
			}),
			'Train on a file of labeled steps instead of on completions from the policy.',
		),
		null,
	),
	batch_size: batchSize('labels: number of solutions from the file per update.'),
	...batches,
	...sampling,
};

export const valueModelStageSchema = stageOf(
	'value-model',
	'A value head: the probability that a partial completion leads to a correct answer, trained on the outcomes of full completions.',
	{ ...head, num_generations: generations('Completions per problem.', 1, 8) },
	{
		pytorch: {
			say: 'TRL does not train value models. Set "engine": "embedded", or use "process-reward-model".',
		},
	},
);

export const estimationNames = ['soft', 'hard'] as const;

export const processStageSchema = stageOf(
	'process-reward-model',
	'A process reward head: the quality of each step, estimated by sampling completions from it (Math-Shepherd).',
	{
		...head,
		num_generations: generations('Solutions per problem whose steps are labeled.', 1, 2),
		completions: key(count('Completions sampled from each step.', 1, 1024), 8),
		estimation: key(
			choice(estimationNames, 'Step label: the fraction of correct completions, or whether any completion is correct.'),
			'soft',
		),
		active: key(
			described(
				group({
					steps: key(
						count('Steps to label per generation batch, not counting the last step of each solution.', 1, 1_000_000),
						32,
					),
					by: key(
						choice(
							['uncertainty', 'surprise', 'random'],
							'How steps are drawn: "uncertainty" favors steps with values near 0.5, "surprise" favors steps in solutions whose known outcome differs from the head\'s value, and "random" (the control) draws all steps with equal probability.',
						),
						'uncertainty',
					),
				}),
				'Label only some steps in each batch, chosen by the head. Solutions with no chosen steps are not trained on.',
			),
			null,
			{
				late: true,
				or: 'all steps are labeled',
				lacking: { pytorch: { when: (value) => value !== null, say: 'TRL does not label steps. Remove "active".' } },
			},
		),
		split: key(
			described(
				v.union(
					[v.string(), v.strictObject({ text: text('Text that ends a step.') })],
					'must be a rule name or {"text"}',
				),
				'Where a step ends: lines, paragraphs, sentences, tokens-16 (any number), or a custom string.',
			),
			'lines',
		),
	},
	{
		pytorch: {
			when: (_, { labels }) => labels === undefined,
			say: 'TRL can only train process rewards on labeled steps. Add "labels", or set "engine": "embedded", which labels steps by sampling completions.',
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
