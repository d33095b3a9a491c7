import { type DiagnosisRun, type Row, setAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import type { RuleFinding, Watch } from '../rule.ts';
import { OpeningMean, Recent } from '../series.ts';
import { Solving } from '../solving.ts';
import { limit } from '../thresholds.ts';
import { digits, percent } from '../words.ts';

/**
 * Detects a policy that barely moves even though its groups are informative: either the learning rate is too low, or
 * the KL term holds it back. By Pinsker's inequality, `kl` bounds how far the probability of any set of completions can
 * have moved: |p - q| <= sqrt(KL / 2), with KL per completion.
 */
export class StillWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #of: 'rate' | 'beta';
	readonly #solving: Solving;
	readonly #rewards = new Recent(limit('shortRun'));
	readonly #kl = new Recent(limit('shortRun'));
	readonly #lengths = new Recent(limit('shortRun'));
	readonly #dead = new Recent(limit('shortRun'));
	readonly #deviations = new Recent(limit('shortRun'));
	#opening = new OpeningMean(limit('shortRun'));
	#batches = 0;

	constructor(run: DiagnosisRun, of: 'rate' | 'beta') {
		this.#run = run;
		this.#of = of;
		this.#solving = new Solving(run);
	}

	stage(): void {
		for (const recent of [this.#rewards, this.#kl, this.#lengths, this.#dead, this.#deviations]) recent.clear();
		this.#opening = new OpeningMean(limit('shortRun'));
		this.#batches = 0;
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		this.#solving.row(row);
		const kl = row.get('kl');
		if (kl !== null) this.#kl.push(Math.abs(kl));
		const [reward, length, dead] = [
			row.get('reward'),
			row.get('completions/mean_length'),
			// With per-batch reward scaling, TRL's fraction counts batches, not groups.
			row.get('groups/dead') ?? row.get('frac_reward_zero_std'),
		];
		if (length !== null) this.#lengths.push(length);
		if (dead !== null) this.#dead.push(dead);
		if (reward === null) return undefined;
		const deviation = row.get('reward_std') ?? row.get('group_reward_std');
		if (deviation !== null) this.#deviations.push(deviation);
		this.#batches++;
		this.#rewards.push(reward);
		this.#opening.push(reward);
		const before = this.#opening.mean;
		if (this.#batches < limit('stillBatches') || before === null || this.#solving.solved === true) return [];
		if (!this.#kl.full || !this.#lengths.full || !this.#dead.full || this.#dead.mean() >= limit('deadShare')) return [];
		const rise = this.#rewards.mean() - before;
		if (rise >= limit('degradeShare') * this.#deviations.mean()) return [];
		const bound = Math.sqrt((this.#kl.mean() * this.#lengths.mean()) / 2);
		return this.#judge(row.stage, bound, `reward went from ${digits(before)} to ${digits(this.#rewards.mean())}`);
	}

	#judge(stage: string, bound: number, rewards: string): readonly RuleFinding[] {
		const [rate, beta] = [stageSetting(this.#run, stage, 'learning_rate'), stageSetting(this.#run, stage, 'beta')];
		const isHeld = beta !== null && beta >= limit('betaHigh');
		if (this.#of === 'beta') {
			if (!isHeld) return [];
			return [
				{
					level: 'warning',
					content: () => ({
						cause: 'beta too high',
						message: `The KL term keeps the policy at the reference: with beta ${beta}, ${rewards} over ${this.#batches} batches, and KL remains at ${digits(this.#kl.mean())} nats per token.`,
						action: 'Lower beta.',
						metrics: ['kl', 'reward'],
						evidence: [],
						recipe: setAdvice(
							stagePath(this.#run, stage, 'beta'),
							`${limit('usualBeta')} instead of ${beta}`,
							limit('usualBeta'),
						),
					}),
				},
			];
		}
		if (isHeld || !(bound < limit('stillBound'))) return [];
		// While the bound is small, it is proportional to the learning rate. At this rate, every completion could have
		// changed.
		const next = rate === null || bound <= 0 ? null : Number((rate / bound).toPrecision(1));
		return [
			{
				level: 'warning',
				content: () => ({
					cause: 'learning rate too low',
					message: `The policy is barely moving: after ${this.#batches} batches, KL to the reference is ${digits(this.#kl.mean())} nats per token, so the probability of any set of completions can have changed by at most ${percent(bound)}.`,
					action: 'Raise the learning rate.',
					metrics: ['kl', 'reward', 'learning_rate'],
					evidence: [],
					recipe: setAdvice(
						stagePath(this.#run, stage, 'learning_rate'),
						next === null ? 'higher' : `${next} instead of ${rate}`,
						next,
					),
				}),
			},
		];
	}
}
