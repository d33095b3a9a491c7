import { Failure } from '../base/failure.ts';
import { readPipelineFile, startPipeline } from '../runs/pipeline/startPipeline.ts';
import type { RecipeChanges } from '../runs/prepareRun.ts';
import { parseOverride } from '../runs/recipeOverrides.ts';
import { startRun } from '../runs/startRun.ts';
import { foregroundPipeline } from './foregroundPipeline.ts';
import { foregroundRun } from './foregroundRun.ts';
import { choice, flag, integer, type Options, type OptionValues, repeatable, text } from './options.ts';
import { parallelOf, parallelOption } from './parallelOption.ts';
import { defineVerb } from './verb.ts';

/** Options shared by all verbs that start a run from a recipe. */
export const changeOptions = {
	seed: integer('N', "Random seed; overrides the recipe's."),
	set: repeatable(text('KEY=VALUE', 'Override a recipe key, such as stages.1.steps=50.')),
	control: choice(
		['shuffle'],
		'NAME',
		'Control experiment. shuffle: shuffle the advantages in every grpo stage and the pairs in every dpo stage, so that the run cannot learn.',
	),
} as const satisfies Options;

export function recipeChanges({ seed, set, control }: OptionValues<typeof changeOptions>): RecipeChanges {
	return {
		...(seed === undefined ? {} : { seed }),
		...(set === undefined ? {} : { set: set.map(parseOverride) }),
		...(control === undefined ? {} : { control }),
	};
}

export const runVerb = defineVerb({
	name: 'run',
	group: 'Train',
	arguments: [{ name: 'recipe', phrase: 'a recipe file', type: 'path' }],
	summary:
		'Start and follow a run, or a pipeline if the recipe has named stages. Ctrl+C saves a checkpoint and stops it.',
	options: {
		...changeOptions,
		detach: flag('Return as soon as the engine is running. The run continues in the background.'),
		...parallelOption,
		summary: flag('Finish with one line of JSON: held-out accuracy before and after GRPO, and timings.'),
	},
	async run({ values, positionals, output, engine }) {
		const changes = recipeChanges(values);
		const recipe = positionals[0] as string;
		if ((await readPipelineFile(recipe, changes)) !== null) {
			if (values.summary) {
				throw new Failure(
					'invalid',
					'--summary works only with a single run, but this recipe is a pipeline.',
					'Omit it.',
				);
			}
			return foregroundPipeline({
				output,
				detach: values.detach ?? false,
				start: (options) => startPipeline(recipe, changes, { engine, ...parallelOf(values.parallel), ...options }),
			});
		}
		if (values.parallel !== undefined) {
			throw new Failure(
				'invalid',
				'--parallel works only with a pipeline, but this recipe is a single run.',
				'Omit it.',
			);
		}
		return foregroundRun({
			output,
			detach: values.detach ?? false,
			summary: values.summary ?? false,
			start: (options) => startRun(recipe, changes, { engine, ...options }),
		});
	},
});
