import { type DiagnosisRun, type Row, setAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Course, Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

/** Returns a lower learning rate to try in place of one that is too high. */
export const lowered = (rate: number): number => Number((rate / limit('rateCut')).toPrecision(3));

class KlWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #recent = new Recent(limit('klBatches'));
	readonly #update = new Recent(limit('klBatches'));
	#before = new Course();
	#held: RuleFinding[] = [];
	#heldUpdate: RuleFinding[] = [];

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#recent.clear();
		this.#update.clear();
		this.#before = new Course();
		this.#held = [];
		this.#heldUpdate = [];
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const [kl, update] = [row.get('kl'), row.get('policy_kl')];
		if (kl === null && update === null) return undefined;
		if (kl !== null) this.#held = this.#reference(row, kl);
		if (update !== null) this.#heldUpdate = this.#ofUpdate(row, update);
		return [...this.#held, ...this.#heldUpdate];
	}

	#reference(row: Row, kl: number): RuleFinding[] {
		this.#recent.push(kl);
		const now = this.#recent.full ? this.#recent.median() : 0;
		const before = this.#before.median();
		const enough = this.#before.count >= limit('shortRun');
		if (!enough || now < limit('klMean') || now < limit('klGrowth') * before) {
			this.#before.push(kl);
			return [];
		}
		const rate = stageSetting(this.#run, row.stage, 'learning_rate');
		return [
			{
				level: now >= 10 * limit('klMean') ? 'error' : 'warning',
				content: () => ({
					message: `KL to the reference has blown up: ${digits(now)} nats per token (median of ${limit('klBatches')} updates), up from ${digits(before)}.`,
					action:
						'The policy is losing its original abilities. Go back to a checkpoint before this step, and use a lower learning rate or a higher beta.',
					metrics: ['kl', 'grad_norm'],
					evidence: [],
					recipe: setAdvice(
						stagePath(this.#run, row.stage, 'learning_rate'),
						rate === null ? 'lower' : `${lowered(rate)} instead of ${rate}`,
						rate === null ? null : lowered(rate),
					),
				}),
			},
		];
	}

	#ofUpdate(row: Row, value: number): RuleFinding[] {
		this.#update.push(Math.abs(value));
		if (!this.#update.full) return [];
		const now = this.#update.median();
		if (now < limit('policyKl')) return [];
		const rate = stageSetting(this.#run, row.stage, 'learning_rate');
		return [
			{
				about: 'update',
				level: 'warning',
				content: () => ({
					message: `Updates are too large: the policy moves ${digits(now)} nats per token away from the policy that sampled the batch (median of ${limit('klBatches')} updates).`,
					action: 'Lower the learning rate, or use fewer updates per batch.',
					metrics: ['policy_kl', 'clip_ratio/region_mean'],
					evidence: [],
					recipe: setAdvice(
						stagePath(this.#run, row.stage, 'learning_rate'),
						rate === null ? 'lower' : `${lowered(rate)} instead of ${rate}`,
						rate === null ? null : lowered(rate),
					),
				}),
			},
		];
	}
}

export const klBlowUp: Rule = {
	name: 'kl-blow-up',
	title: 'KL blow-up',
	fires:
		'the median `kl` of the last `klBatches` updates is >= `klMean` and >= `klGrowth` x the median of all earlier updates, or the median |`policy_kl`| of the last `klBatches` updates is >= `policyKl`.',
	silent: 'for isolated spikes (a single rare token can dominate k3), and for a KL that has been high from the start.',
	metrics: ['kl', 'policy_kl'],
	thresholds: ['klMean', 'klGrowth', 'klBatches', 'policyKl', 'rateCut', 'shortRun'],
	watch: (run) => new KlWatch(run),
};
