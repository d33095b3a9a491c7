import type { Row } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit, type ThresholdName } from '../thresholds.ts';
import { digits } from '../words.ts';

interface Measure {
	readonly metric: string;
	readonly threshold: ThresholdName;
	/** Returns how far the mean is from perfect agreement. */
	distance(mean: number): number;
	words(mean: number): string;
}

const measures: readonly Measure[] = [
	{
		metric: 'sampling/mismatch_kl',
		threshold: 'mismatchKl',
		distance: Math.abs,
		words: (mean) => `their KL is ${digits(mean)} nats per token`,
	},
	{
		metric: 'sampling/sampling_logp_difference/mean',
		threshold: 'mismatchDifference',
		distance: Math.abs,
		words: (mean) => `their log-probabilities differ by ${digits(mean)} nats per token`,
	},
	{
		metric: 'sampling/importance_sampling_ratio/mean',
		threshold: 'mismatchRatio',
		distance: (mean) => Math.abs(mean - 1),
		words: (mean) => `their mean probability ratio is ${digits(mean)}`,
	},
];

/** Age of the samples in updates, if staleness is intentional. */
const staleness = 'sample/staleness_max';

/** Multiple of the limit at which a difference becomes an error. */
const severe = 10;

class MismatchWatch implements Watch {
	#stale = 0;
	readonly #recent = measures.map((measure) => ({ measure, values: new Recent(limit('mismatchBatches')) }));

	stage(): void {
		this.#stale = 0;
		for (const { values } of this.#recent) values.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		this.#stale = row.get(staleness) ?? this.#stale;
		let reported = false;
		for (const { measure, values } of this.#recent) {
			const value = row.get(measure.metric);
			if (value === null) continue;
			values.push(value);
			reported = true;
		}
		if (!reported) return undefined;
		const far = this.#recent.flatMap(({ measure, values }) => {
			const mean = values.mean();
			const holds = values.full && measure.distance(mean) >= limit(measure.threshold);
			return holds ? [{ measure, mean }] : [];
		});
		if (far.length === 0) return [];
		const worst = Math.max(...far.map(({ measure, mean }) => measure.distance(mean) / limit(measure.threshold)));
		const stale = this.#stale;
		if (stale > 0 && worst < severe) return [];
		return [
			{
				level: worst >= severe && stale === 0 ? 'error' : 'warning',
				content: () => ({
					message: `The sampler and the trainer do not run the same policy: over ${limit('mismatchBatches')} batches, ${far.map(({ measure, mean }) => measure.words(mean)).join(', ')}.`,
					action:
						stale > 0
							? `Batches are ${stale} updates old when training on them begins. Lower "max_staleness" or the learning rate if accuracy falls.`
							: 'Check that both use the same weights, precision, chat template, and temperature. Use importance sampling to correct for any remaining differences.',
					metrics: [...far.map(({ measure }) => measure.metric), ...(stale > 0 ? [staleness] : [])],
					evidence: [],
					recipe: null,
				}),
			},
		];
	}
}

export const samplerMismatch: Rule = {
	name: 'sampler-mismatch',
	title: 'Sampler and trainer differ',
	fires:
		'over the last `mismatchBatches` batches, |mean `sampling/mismatch_kl`| is >= `mismatchKl`, or mean `sampling/sampling_logp_difference/mean` is >= `mismatchDifference`, or mean `sampling/importance_sampling_ratio/mean` is at least `mismatchRatio` away from 1. Reported as an error at ten times these limits. If samples are stale on purpose (`sample/staleness_max` above 0), smaller differences are ignored, and those at ten times these limits are reported as a warning.',
	silent: 'for large differences in single tokens, because rare tokens are subject to rounding.',
	metrics: [...measures.map(({ metric }) => metric), staleness],
	thresholds: ['mismatchKl', 'mismatchDifference', 'mismatchRatio', 'mismatchBatches'],
	watch: () => new MismatchWatch(),
};
