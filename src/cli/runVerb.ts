import { Failure } from '../base/failure.ts';
import { readPipelineFile, startPipeline } from '../runs/pipeline/startPipeline.ts';
import type { RecipeChanges } from '../runs/prepareRun.ts';
import { parseOverride } from '../runs/recipeOverrides.ts';
import { startRun } from '../runs/startRun.ts';
import { foregroundPipeline } from './foregroundPipeline.ts';
import { foregroundRun } from './foregroundRun.ts';
import { parseArguments, wholeNumber } from './parseArguments.ts';
import type { Verb } from './verb.ts';

/** The options of every verb that starts a run from a recipe. */
export const changeOptions = {
	seed: { type: 'string' },
	set: { type: 'string', multiple: true },
	control: { type: 'string' },
} as const;

export const changeHelp: Verb['options'] = [
	['--seed N', "Seed of everything random, in place of the recipe's."],
	['--set KEY=VALUE', 'Another value for one key of the recipe, such as stages.1.steps=50; may be repeated.'],
	['--control shuffle', 'Permute the advantages of every grpo stage: a run that cannot learn.'],
];

export function recipeChanges(values: { seed?: string; set?: string[]; control?: string }): RecipeChanges {
	const { seed, set, control } = values;
	if (control !== undefined && control !== 'shuffle') {
		throw new Failure('invalid', `--control is "${control}"; the only control experiment is "shuffle".`);
	}
	const number = wholeNumber(seed, '--seed');
	return {
		...(number === undefined ? {} : { seed: number }),
		...(set === undefined ? {} : { set: set.map(parseOverride) }),
		...(control === undefined ? {} : { control }),
	};
}

export const runVerb: Verb = {
	name: 'run',
	usage: '<recipe>',
	summary:
		'Start a run of a recipe, or the pipeline of one whose stages have names, and follow it; Ctrl+C stops it with a checkpoint.',
	options: [
		...changeHelp,
		['--detach', 'Return as soon as the engine works; it goes on by itself.'],
		['--summary', 'End with one line of JSON: held-out accuracy before and after GRPO, and times.'],
	],
	async run({ args, output, engine }) {
		const { values, positionals } = parseArguments(
			'run',
			args,
			{ ...changeOptions, detach: { type: 'boolean' }, summary: { type: 'boolean' } },
			{ names: ['a recipe file'], least: 1, most: 1 },
		);
		const changes = recipeChanges(values);
		const recipe = positionals[0] as string;
		if ((await readPipelineFile(recipe, changes)) !== null) {
			if (values.summary) {
				throw new Failure('invalid', '--summary is of one run, and this recipe is a pipeline.', 'Leave it out.');
			}
			return foregroundPipeline({
				output,
				detach: values.detach ?? false,
				start: (options) => startPipeline(recipe, changes, { engine, ...options }),
			});
		}
		return foregroundRun({
			output,
			detach: values.detach ?? false,
			summary: values.summary ?? false,
			start: (options) => startRun(recipe, changes, { engine, ...options }),
		});
	},
};
