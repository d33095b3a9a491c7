import { stat } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { parseVariedKey, sweepGrid, sweepPlan, type VariedKey, withinBudget } from '../core/sweep/sweepPlan.ts';
import { readPipelineFile } from '../runs/pipeline/startPipeline.ts';
import { resolveRecipeFile } from '../runs/prepareRun.ts';
import { makeSweep } from '../runs/sweepFolder.ts';
import { followSweep } from './followSweep.ts';
import { flag, integer, repeatable, text } from './options.ts';
import { defineVerb } from './verb.ts';

const defaultMetric = 'eval/heldout/accuracy';
const defaultEta = 3;

export const sweepVerb = defineVerb({
	name: 'sweep',
	group: 'Train',
	arguments: [{ name: 'recipe', phrase: 'a recipe file or a sweep folder', type: 'path' }],
	summary:
		'Train a recipe with different values and seeds, one run at a time, and compare the runs. Ctrl+C stops the current run with a checkpoint; pass the sweep folder to continue.',
	options: {
		vary: repeatable(
			text(
				'KEY=V,V',
				'Values of a recipe key, such as stages.1.beta=0,0.02. Repeat for other keys to train all combinations.',
			),
		),
		seeds: integer('N', 'Seeds 1 to N for each combination.', 1),
		budget: integer(
			'STEPS',
			'Maximum total number of steps; if exceeded, a random subset of the combinations is trained.',
			1,
		),
		halving: flag('Successive halving: train all runs briefly, then continue only the best ones.'),
		eta: integer(
			'N',
			`With --halving, each rung keeps 1/N of the runs and is N times as long (default: ${defaultEta}).`,
			2,
		),
		first: integer(
			'STEPS',
			'With --halving, minimum number of steps before the first comparison (default: a ninth of the steps).',
			1,
		),
		metric: text('NAME', `Metric to compare runs by; higher is better (default: ${defaultMetric}).`),
		name: text('TAG', 'Tag for the runs (default: sweep).'),
		'dry-run': flag('Show the plan without training.'),
	},
	async run({ values, positionals, output, engine }) {
		const recipe = positionals[0] as string;
		if ((await stat(recipe).catch(() => null))?.isDirectory()) {
			if (Object.keys(values).length > 0) {
				throw new Failure('invalid', 'A sweep always continues with its original options.', 'Omit the options.');
			}
			return followSweep(recipe, output, engine);
		}
		const keys = (values.vary ?? []).map(parseVariedKey);
		const seeds = Array.from({ length: values.seeds ?? 0 }, (_, i) => i + 1);
		const grid = sweepGrid(keys, seeds);
		const steps = await stepsOf(recipe, keys, values.halving ?? false);
		const halving = values.halving
			? { eta: values.eta ?? defaultEta, first: values.first ?? Math.ceil(steps / 9) }
			: null;
		const planOf = (count: number) => sweepPlan(count, steps, halving);
		const configurations = withinBudget(grid, planOf, values.budget ?? null, 1);
		// Before training starts, report values that the recipe does not accept.
		for (const { set, seed } of configurations)
			await resolveRecipeFile(recipe, { set: [...set], ...(seed === null ? {} : { seed }) });
		const plan = planOf(configurations.length);
		const tag = values.name ?? 'sweep';
		output.object({ kind: 'plan', runs: configurations.length, combinations: grid.length, ...plan });
		const reduced = configurations.length < grid.length ? ` of ${formatCount(grid.length)} combinations` : '';
		output.line(
			`${formatCounted(configurations.length, 'run')}${reduced}, at most ${formatCounted(plan.cost, 'step')}.`,
		);
		for (const [i, rung] of plan.rungs.entries()) {
			output.line(`  ${formatCounted(plan.counts[i] as number, 'run')} to step ${formatCount(rung)}`);
		}
		if (values['dry-run']) {
			for (const { label } of configurations) output.line(`  ${label}`);
			return 0;
		}
		const { name } = await resolveRecipeFile(recipe, {});
		const metric = values.metric ?? defaultMetric;
		const folder = await makeSweep({ recipe, name, configurations, plan, metric, tag });
		return followSweep(folder, output, engine);
	},
});

/**
 * Returns the total number of steps in the longest run. Fails with `unsupported` for pipelines, and for halving if
 * steps are varied.
 */
async function stepsOf(recipe: string, keys: readonly VariedKey[], halving: boolean): Promise<number> {
	if ((await readPipelineFile(recipe)) !== null) {
		throw new Failure(
			'unsupported',
			'A sweep trains single runs, but this recipe is a pipeline.',
			'Sweep a single stage.',
		);
	}
	const lengths = keys.filter(({ path }) => path.at(-1) === 'steps');
	if (halving && lengths.length > 0) {
		throw new Failure('unsupported', 'Successive halving compares runs of the same length.', 'Do not vary steps.');
	}
	let longest = 0;
	for (const { set } of lengths.length === 0 ? [{ set: [] }] : sweepGrid(lengths, [])) {
		const { stages } = await resolveRecipeFile(recipe, { set: [...set] });
		longest = Math.max(
			longest,
			stages.reduce((sum, stage) => sum + stage.steps, 0),
		);
	}
	return longest;
}
