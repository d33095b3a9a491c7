import { type DiagnosisRun, type Row, setAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { OpeningMean, Recent } from '../series.ts';
import { Solving } from '../solving.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits, percent } from '../words.ts';

/** A decrease from the older half to the newer half counts as falling only if it exceeds this value. */
const falling = 0.05;

class OverlongWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #shares = new Recent(limit('overlongBatches'));
	readonly #facts = new RecentFacts(3);
	readonly #solving: Solving;
	readonly #lengths = new Recent(limit('overlongBatches'));
	#openingShare = new OpeningMean(limit('openingBatches'));
	#openingLength = new OpeningMean(limit('openingBatches'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
		this.#solving = new Solving(run);
	}

	stage(): void {
		this.#shares.clear();
		this.#facts.clear();
		this.#lengths.clear();
		this.#openingShare = new OpeningMean(limit('openingBatches'));
		this.#openingLength = new OpeningMean(limit('openingBatches'));
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		this.#solving.row(row);
		const length = row.get('completions/mean_length');
		if (length !== null) {
			this.#lengths.push(length);
			this.#openingLength.push(length);
		}
		const truncated = row.get('completions/clipped_ratio');
		if (truncated === null) return undefined;
		this.#shares.push(truncated);
		this.#openingShare.push(truncated);
		if (!this.#shares.full) return [];
		const mean = this.#shares.mean();
		const squeezed = this.#squeezed(row.stage);
		if (squeezed !== null) return [squeezed];
		const half = limit('overlongBatches') / 2;
		if (mean < limit('overlongShare') || this.#shares.mean(half) < this.#shares.mean(0, half) - falling) return [];
		const longest = stageSetting(this.#run, row.stage, 'max_completion_length');
		return [
			{
				level: 'warning',
				content: () => ({
					message: `${percent(mean)} of the completions in the last ${limit('overlongBatches')} batches are truncated at the length limit${longest === null ? '' : ` of ${longest} tokens`}, and the fraction is not falling.`,
					action:
						'Raise the completion length limit, or exclude truncated completions from the loss (mask_truncated_completions). A truncated completion gets no reward, even if it was about to give a correct answer.',
					metrics: ['completions/clipped_ratio', 'completions/mean_length'],
					evidence: this.#facts.evidence((group, i) => group.truncated[i] === true),
					cause: 'completions truncated',
					recipe: this.#advice(row.stage),
				}),
			},
		];
	}

	/** Detects a policy whose completions were truncated at first and became shorter rather than correct. */
	#squeezed(stage: string): RuleFinding | null {
		const [share, before] = [this.#openingShare.mean, this.#openingLength.mean];
		const accuracy = this.#solving.accuracy;
		if (share === null || before === null || accuracy === null || !this.#lengths.full) return null;
		const now = this.#lengths.mean();
		if (share < limit('squeezedShare') || now > limit('squeezedLength') * before || accuracy > limit('flatRise'))
			return null;
		return {
			about: 'squeezed',
			level: 'error',
			content: () => ({
				message: `${percent(share)} of the completions were truncated at the start of the stage. Completions have become shorter since (${digits(now)} tokens, down from ${digits(before)}) but are not correct (accuracy ${digits(accuracy)}), because the limit leaves no room for an answer.`,
				action: 'Raise the completion length limit, and restart from the checkpoint before this stage.',
				metrics: ['completions/clipped_ratio', 'completions/mean_length'],
				evidence: this.#facts.evidence((group, i) => group.correct[i] === false),
				cause: 'completions truncated',
				recipe: this.#advice(stage),
			}),
		};
	}

	#advice(stage: string) {
		const longest = stageSetting(this.#run, stage, 'max_completion_length');
		return setAdvice(
			stagePath(this.#run, stage, 'max_completion_length'),
			longest === null ? 'a higher token limit' : `${2 * longest} instead of ${longest}`,
			longest === null ? null : 2 * longest,
		);
	}
}

export const overlong: Rule = {
	name: 'overlong',
	title: 'Overlong completions',
	fires:
		'mean `completions/clipped_ratio` over the last `overlongBatches` batches is >= `overlongShare`, and the mean of their newer half is at most 0.05 below that of the older half; or (`squeezed`) the ratio was >= `squeezedShare` in the first `openingBatches` batches, mean `completions/mean_length` is now <= `squeezedLength` x its value then, and accuracy is at most `flatRise`.',
	silent: 'while the ratio is falling, because the policy is then learning to stop.',
	metrics: ['completions/clipped_ratio', 'completions/mean_length'],
	thresholds: ['overlongShare', 'overlongBatches', 'squeezedShare', 'squeezedLength', 'openingBatches', 'flatRise'],
	explains: ['dead-groups', 'format-without-accuracy', 'dominant-reward'],
	watch: (run) => new OverlongWatch(run),
};
