import { type DiagnosisRun, type Row, recipeAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import type { Holding, Rule, Watch } from '../rule.ts';
import { Beginning, Recent } from '../series.ts';
import { Solving } from '../solving.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

class EntropyWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #recent = new Recent(limit('entropyBatches'));
	/** Twice as long: its older half is what the newer one is compared with. */
	readonly #rewards = new Recent(2 * limit('entropyBatches'));
	readonly #deviations = new Recent(limit('entropyBatches'));
	readonly #solving: Solving;
	#beginning = new Beginning(limit('entropyBatches'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
		this.#solving = new Solving(run);
	}

	stage(): void {
		this.#recent.clear();
		this.#rewards.clear();
		this.#beginning = new Beginning(limit('entropyBatches'));
	}

	row(row: Row): readonly Holding[] | undefined {
		this.#solving.row(row);
		const [reward, deviation, entropy] = [row.get('reward'), row.get('reward_std'), row.get('entropy')];
		if (reward !== null) this.#rewards.push(reward);
		if (deviation !== null) this.#deviations.push(deviation);
		if (entropy === null) return undefined;
		this.#beginning.push(entropy);
		this.#recent.push(entropy);
		const before = this.#beginning.mean;
		if (before === null || !this.#recent.full) return [];
		const now = this.#recent.mean();
		if (now > limit('entropyFloor') || now > limit('entropyShare') * before) return [];
		if (this.#solving.solved === true || !this.#isFlat()) return [];
		const { accuracy } = this.#solving;
		const temperature = stageSetting(this.#run, row.stage, 'temperature');
		return [
			{
				level: 'warning',
				tell: () => ({
					message: `Entropy has collapsed: ${digits(now)} nats per token over the last ${limit('entropyBatches')} batches, ${digits(before)} at the beginning of the stage, and reward rises no more${accuracy === null ? '' : ` (accuracy ${digits(accuracy)})`}.`,
					action:
						'Completions of a group are nearly the same, so nothing new is found: go back to an earlier checkpoint with a higher temperature or epsilon_high, or a lower learning rate.',
					metrics: ['entropy', 'reward'],
					evidence: [],
					recipe: recipeAdvice(
						stagePath(this.#run, row.stage, 'epsilon_high'),
						temperature !== null && temperature < 1
							? '0.28, with temperature 1'
							: '0.28 (DAPO), with a lower learning_rate',
					),
				}),
			},
		];
	}

	/** Whether reward no longer rises, by a tenth of what completions differ by; a run that tells no reward is not judged. */
	#isFlat(): boolean {
		const half = limit('entropyBatches');
		if (!this.#rewards.full) return false;
		const margin = this.#deviations.count === 0 ? 0 : 0.1 * this.#deviations.mean();
		return this.#rewards.mean(half) <= this.#rewards.mean(0, half) + margin;
	}
}

export const entropyCollapse: Rule = {
	name: 'entropy-collapse',
	title: 'Entropy collapse',
	fires:
		'mean `entropy` of the last `entropyBatches` batches <= `entropyFloor` and <= `entropyShare` x its mean over the first `entropyBatches` batches of the stage, while the mean reward of these batches is at most a tenth of `reward_std` above that of the `entropyBatches` before.',
	silent: 'While reward rises, and once accuracy has reached `solvedAccuracy`: then low entropy is the aim.',
	metrics: ['entropy', 'reward', 'reward_std'],
	thresholds: ['entropyShare', 'entropyFloor', 'entropyBatches', 'solvedAccuracy'],
	watch: (run) => new EntropyWatch(run),
};
