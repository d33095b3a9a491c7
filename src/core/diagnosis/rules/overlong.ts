import { type DiagnosisRun, type Row, setAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Holding, Rule, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

/** By so much the newer half may lie below the older without being a fall. */
const falling = 0.05;

class OverlongWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #shares = new Recent(limit('overlongBatches'));
	readonly #facts = new RecentFacts(3);

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#shares.clear();
		this.#facts.clear();
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly Holding[] | undefined {
		const truncated = row.get('completions/clipped_ratio');
		if (truncated === null) return undefined;
		this.#shares.push(truncated);
		if (!this.#shares.full) return [];
		const mean = this.#shares.mean();
		const half = limit('overlongBatches') / 2;
		if (mean < limit('overlongShare') || this.#shares.mean(half) < this.#shares.mean(0, half) - falling) return [];
		const longest = stageSetting(this.#run, row.stage, 'max_completion_length');
		return [
			{
				level: 'warning',
				tell: () => ({
					message: `${percent(mean)} of the completions of the last ${limit('overlongBatches')} batches are cut off at the longest length${longest === null ? '' : ` of ${longest} tokens`}, and it does not become fewer.`,
					action:
						'Allow longer completions, or leave truncated ones out of the loss (mask_truncated_completions): cut off, they earn nothing whatever they were about to say.',
					metrics: ['completions/clipped_ratio', 'completions/mean_length'],
					evidence: this.#facts.evidence((group, i) => group.truncated[i] === true),
					cause: 'completions truncated',
					recipe: setAdvice(
						stagePath(this.#run, row.stage, 'max_completion_length'),
						longest === null ? 'more tokens' : `${2 * longest} instead of ${longest}`,
						longest === null ? null : 2 * longest,
					),
				}),
			},
		];
	}
}

export const overlong: Rule = {
	name: 'overlong',
	title: 'Overlong completions',
	fires:
		'mean `completions/clipped_ratio` of the last `overlongBatches` batches >= `overlongShare`, and that of their newer half at most 0.05 below that of the older.',
	silent: 'While the share falls: the policy is learning to end.',
	metrics: ['completions/clipped_ratio'],
	thresholds: ['overlongShare', 'overlongBatches'],
	watch: (run) => new OverlongWatch(run),
};
