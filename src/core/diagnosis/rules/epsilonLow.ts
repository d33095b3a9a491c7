import { clipPaths, type DiagnosisRun, type Row, recipeAdvice, stageSetting } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

/** Losses with per-token ratios. */
const tokenLosses: ReadonlySet<unknown> = new Set([undefined, 'grpo', 'bnpo', 'dr_grpo', 'dapo']);

class ClipWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #clipped = new Recent(limit('stillBatches'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#clipped.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const clipped = row.get('clip_ratio/region_mean');
		if (clipped === null) return undefined;
		this.#clipped.push(clipped);
		const mean = this.#clipped.mean();
		if (!this.#clipped.full || mean < limit('clippedShare')) return [];
		const epsilon = stageSetting(this.#run, row.stage, 'epsilon');
		const loss = this.#run.stages.findLast(({ type }) => type === row.stage)?.settings.loss_type;
		if (epsilon === null || epsilon >= limit('epsilonLow') || !tokenLosses.has(loss)) return [];
		const { low: path, high } = clipPaths(this.#run, row.stage);
		const value = limit('usualEpsilon');
		return [
			{
				level: 'warning',
				content: () => ({
					cause: 'clip range (epsilon) too small',
					message: `${percent(mean)} of the tokens in the last ${limit('stillBatches')} updates are clipped at epsilon ${epsilon}, so they contribute no gradient.`,
					action: 'Raise epsilon.',
					metrics: ['clip_ratio/region_mean', 'reward'],
					evidence: [],
					recipe: recipeAdvice(
						path,
						`${value} instead of ${epsilon}`,
						path === null || high === null
							? []
							: [
									{ path, value },
									{ path: high, value },
								],
					),
				}),
			},
		];
	}
}

export const epsilonLow: Rule = {
	name: 'epsilon-low',
	title: 'Clip range too small',
	fires:
		'`epsilon` in the recipe is below `epsilonLow`, the loss uses per-token ratios, and mean `clip_ratio/region_mean` over the last `stillBatches` updates is at least `clippedShare`. The suggested value is `usualEpsilon`.',
	silent: 'with one update per batch, because nothing is clipped then.',
	metrics: ['clip_ratio/region_mean'],
	thresholds: ['epsilonLow', 'clippedShare', 'usualEpsilon', 'stillBatches'],
	watch: (run) => new ClipWatch(run),
};
