import { Failure } from '../base/failure.ts';
import { formatCount, formatCounted } from '../base/format.ts';
import { parseVariedKey, sweepGrid, sweepPlan, type VariedKey, withinBudget } from '../core/sweep/sweepPlan.ts';
import { readPipelineFile } from '../runs/pipeline/startPipeline.ts';
import { resolveRecipeFile } from '../runs/prepareRun.ts';
import { runSweep, type SweepResult } from '../runs/sweep.ts';
import { onInterrupt } from './interrupts.ts';
import { flag, integer, repeatable, text } from './options.ts';
import { defineVerb } from './verb.ts';

const defaultMetric = 'eval/heldout/accuracy';
const defaultEta = 3;

export const sweepVerb = defineVerb({
	name: 'sweep',
	group: 'Train',
	arguments: [{ name: 'recipe', phrase: 'a recipe file', type: 'path' }],
	summary:
		'Train a recipe with different values and seeds, one run after the other, and compare them. Ctrl+C stops the current run with a checkpoint.',
	options: {
		vary: repeatable(text('KEY=V,V', 'Values of a recipe key, such as stages.1.beta=0,0.02. Keys are combined.')),
		seeds: integer('N', 'Seeds 1 to N for each combination.', 1),
		budget: integer(
			'STEPS',
			'Maximum number of steps of all runs; more combinations are reduced to a random subset.',
			1,
		),
		halving: flag('Successive halving: train all runs for a while, and only the best ones further.'),
		eta: integer(
			'N',
			`With --halving, each rung keeps 1/N of the runs and is N times as long (default ${defaultEta}).`,
			2,
		),
		first: integer(
			'STEPS',
			'With --halving, minimum number of steps before the first comparison (default a ninth).',
			1,
		),
		metric: text('NAME', `Metric to compare runs by, the larger the better (default ${defaultMetric}).`),
		name: text('TAG', 'Tag of the runs in the table of runs (default sweep).'),
		'dry-run': flag('Show the plan without training.'),
	},
	async run({ values, positionals, output, engine }) {
		const recipe = positionals[0] as string;
		const keys = (values.vary ?? []).map(parseVariedKey);
		const seeds = Array.from({ length: values.seeds ?? 0 }, (_, i) => i + 1);
		const grid = sweepGrid(keys, seeds);
		const steps = await stepsOf(recipe, keys, values.halving ?? false);
		const halving = values.halving
			? { eta: values.eta ?? defaultEta, first: values.first ?? Math.ceil(steps / 9) }
			: null;
		const planOf = (count: number) => sweepPlan(count, steps, halving);
		const configurations = withinBudget(grid, planOf, values.budget ?? null, 1);
		// A value that the recipe does not accept is reported before anything is trained.
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
		const stop = new AbortController();
		const release = onInterrupt((count) => {
			// Engines outlive this process, so a second interrupt leaves the current run to itself.
			if (count > 1) process.exit(130);
			output.line('Stopping the current run with a checkpoint. Press Ctrl+C again to leave it running.');
			stop.abort();
		});
		try {
			const metric = values.metric ?? defaultMetric;
			const results = await runSweep({
				...{ recipe, configurations, plan, metric, tag, start: { engine }, signal: stop.signal },
				onProgress: ({ rung, index, folder, step, score, status, failure }) => {
					const { label } = configurations[index] as (typeof configurations)[number];
					const state = failure === undefined ? status : failure.toString();
					output.object({
						kind: 'run',
						rung,
						label,
						folder,
						step,
						score,
						status: status ?? 'crashed',
						...(failure === undefined ? {} : { error: failure.toString() }),
					});
					output.line(
						`rung ${rung + 1} of ${plan.rungs.length}: ${label}: ${scoreText(score)} at step ${step} (${state})`,
					);
				},
			});
			output.object({
				kind: 'results',
				metric,
				results: results.map(({ configuration, ...rest }) => ({ ...rest, label: configuration.label })),
			});
			for (const line of resultLines(results, metric)) output.line(line);
			output.line(`To compare the runs, filter the table of runs by tags:${tag}.`);
			if (stop.signal.aborted) return 130;
			return results.some(({ status }) => status === 'finished') ? 0 : 1;
		} finally {
			release();
		}
	},
});

const scoreText = (score: number | null): string => (score === null ? 'no value' : score.toFixed(4));

/** Returns one line per run, the runs that were trained longest first, then by score. */
function resultLines(results: readonly SweepResult[], metric: string): string[] {
	const ordered = [...results].sort(
		(a, b) => b.rung - a.rung || (b.score ?? Number.NEGATIVE_INFINITY) - (a.score ?? Number.NEGATIVE_INFINITY),
	);
	return [
		`${metric}:`,
		...ordered.map(
			({ configuration, score, step, status, folder }) =>
				`  ${scoreText(score)}  step ${step}  ${status ?? 'not started'}  ${configuration.label}${folder === null ? '' : `  ${folder}`}`,
		),
	];
}

/**
 * Returns the steps of all stages of the longest run. Fails with `unsupported` for pipelines, and for varied steps with
 * halving.
 */
async function stepsOf(recipe: string, keys: readonly VariedKey[], halving: boolean): Promise<number> {
	if ((await readPipelineFile(recipe)) !== null) {
		throw new Failure('unsupported', 'A sweep trains single runs, but this recipe is a pipeline.', 'Sweep one stage.');
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
