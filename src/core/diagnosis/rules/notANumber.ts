import { type DiagnosisRun, type Row, recipeAdvice, stagePath } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';

const looked = 10;

class NotANumberWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #metrics = ['loss', 'grad_norm', 'kl', 'reward'].map((name) => ({
		name,
		invalid: new Recent(looked),
		/** A metric that has never had a value is not being measured. */
		had: false,
	}));
	#held: RuleFinding[] = [];

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		let reported = false;
		for (const metric of this.#metrics) {
			if (!row.has(metric.name)) continue;
			reported = true;
			const value = row.get(metric.name);
			metric.had ||= value !== null;
			// Also count a loss that has never been a number.
			if (metric.had || metric.name === 'loss') metric.invalid.push(value === null ? 1 : 0);
		}
		if (!reported) return undefined;
		const bad = this.#metrics.filter(({ invalid }) => invalid.mean() * invalid.count >= limit('nanRows'));
		if (bad.length === 0) {
			this.#held = [];
			return this.#held;
		}
		const names = bad.map(({ name }) => name);
		const worst = Math.max(...bad.map(({ invalid }) => Math.round(invalid.mean() * invalid.count)));
		const trains = names.some((name) => name !== 'reward');
		this.#held = [
			{
				about: trains ? 'update' : 'reward',
				level: 'error',
				content: () => ({
					message: `${names.join(', ')} ${names.length > 1 ? 'are' : 'is'} not a number in ${worst} of the last ${Math.max(...bad.map(({ invalid }) => invalid.count))} updates that report ${names.length > 1 ? 'them' : 'it'}.`,
					action: trains
						? 'NaN weights do not recover. Go back to a checkpoint before this step, and use a lower learning rate, a smaller max_grad_norm, or higher precision.'
						: 'No completion in these batches has a reward. Check what the reward functions return and which errors they raise.',
					metrics: names,
					evidence: [],
					recipe: trains ? recipeAdvice(stagePath(this.#run, row.stage, 'learning_rate'), 'lower') : null,
				}),
			},
		];
		return this.#held;
	}
}

export const notANumber: Rule = {
	name: 'not-a-number',
	title: 'Not a number',
	fires:
		'`loss`, `grad_norm`, `kl`, or `reward` is not a valid number in at least `nanRows` of the last 10 updates that report it, in any stage.',
	silent: 'for single updates skipped by mixed precision, and for metrics that a trainer declares but never fills in.',
	metrics: ['loss', 'grad_norm', 'kl', 'reward'],
	thresholds: ['nanRows'],
	everyStage: true,
	watch: (run) => new NotANumberWatch(run),
};
