import {
	clipPaths,
	type DiagnosisRun,
	type RecipeAdvice,
	type Row,
	recipeAdvice,
	setAdvice,
	stagePath,
	stageSetting,
} from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { OpeningMean, Recent } from '../series.ts';
import { Solving } from '../solving.ts';
import { isAllRight, isDead, type StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits, percent } from '../words.ts';

class EntropyWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #recent = new Recent(limit('entropyBatches'));
	/** Twice as long as the other series because the older half is the baseline for the newer half. */
	readonly #rewards = new Recent(2 * limit('entropyBatches'));
	readonly #deviations = new Recent(limit('entropyBatches'));
	/** Fraction of dead groups among those that are not all correct. */
	readonly #stuck = new Recent(limit('entropyBatches'));
	/** Whether rollouts provide this fraction. If not, it comes from metrics. */
	#hasFacts = false;
	readonly #solving: Solving;
	#opening = new OpeningMean(limit('entropyBatches'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
		this.#solving = new Solving(run);
	}

	stage(): void {
		this.#recent.clear();
		this.#rewards.clear();
		this.#deviations.clear();
		this.#stuck.clear();
		this.#hasFacts = false;
		this.#opening = new OpeningMean(limit('entropyBatches'));
	}

	step({ groups }: StepFacts): undefined {
		const unsolved = groups.filter((group) => group.correct.some((value) => value !== null) && !isAllRight(group));
		if (unsolved.length === 0) return;
		if (!this.#hasFacts) this.#stuck.clear();
		this.#hasFacts = true;
		this.#stuck.push(unsolved.filter(isDead).length / unsolved.length);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		this.#solving.row(row);
		const [reward, deviation, entropy] = [row.get('reward'), row.get('reward_std'), row.get('entropy')];
		if (reward !== null) this.#rewards.push(reward);
		if (deviation !== null) this.#deviations.push(deviation);
		const [dead, solved] = [row.get('groups/dead'), row.get('groups/solved_all')];
		if (!this.#hasFacts && dead !== null && solved !== null && solved < 1) {
			this.#stuck.push(Math.max(0, dead - solved) / (1 - solved));
		}
		if (entropy === null) return undefined;
		this.#opening.push(entropy);
		this.#recent.push(entropy);
		const before = this.#opening.mean;
		if (before === null || !this.#recent.full) return [];
		const now = this.#recent.mean();
		if (now > limit('entropyFloor')) return [];
		const fell = now <= limit('entropyShare') * before;
		// If entropy did not drop, also require that many unsolved groups lack reward variance. Exclude low sampling
		// temperatures, at which this is normal for any policy.
		const temperature = stageSetting(this.#run, row.stage, 'temperature');
		const began =
			before <= limit('entropyFloor') &&
			this.#stuck.full &&
			this.#stuck.mean() >= limit('entropyDead') &&
			(temperature === null || temperature >= limit('coldTemperature'));
		if (!fell && !began) return [];
		if (this.#solving.solved === true || !this.#isFlat()) return [];
		const { accuracy } = this.#solving;
		return [
			{
				level: 'warning',
				content: () => ({
					...(fell ? {} : { cause: 'policy without entropy', explains: ['dead-groups'] }),
					message: `${fell ? 'Entropy has collapsed' : 'The policy started this stage with almost no entropy'}: ${digits(now)} nats per token over the last ${limit('entropyBatches')} batches, compared with ${digits(before)} at the start of the stage${fell ? '' : `, and all rewards are equal in ${percent(this.#stuck.mean())} of the groups with incorrect completions`}. Reward is no longer rising${accuracy === null ? '' : ` (accuracy ${digits(accuracy)})`}.`,
					action: fell
						? 'Completions within a group are nearly identical, so exploration has stopped. Restart from an earlier checkpoint with a higher temperature or epsilon_high, or with a lower learning rate.'
						: 'Raise the sampling temperature, or start from a checkpoint that was trained for fewer steps.',
					metrics: ['entropy', 'reward', 'groups/dead'],
					evidence: [],
					recipe: this.#advice(row.stage, fell),
				}),
			},
		];
	}

	#advice(stage: string, fell: boolean): RecipeAdvice | null {
		const temperature = stageSetting(this.#run, stage, 'temperature');
		if (!fell) {
			const next = temperature === null ? null : Number((limit('entropyHotter') * temperature).toPrecision(2));
			return setAdvice(
				stagePath(this.#run, stage, 'temperature'),
				next === null ? 'higher' : `${next} instead of ${temperature}`,
				next,
			);
		}
		return recipeAdvice(
			clipPaths(this.#run, stage).high,
			temperature !== null && temperature < 1 ? '0.28, with temperature 1' : '0.28 (DAPO), with a lower learning_rate',
		);
	}

	/**
	 * Returns whether reward is flat: it has not risen by more than a tenth of its spread. Returns false if no reward is
	 * recorded.
	 */
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
		'mean `entropy` over the last `entropyBatches` batches is <= `entropyFloor` and <= `entropyShare` x its mean over the first `entropyBatches` batches of the stage (or both means are <= `entropyFloor`, the mean fraction of dead groups among those that are not all correct is >= `entropyDead`, and temperature is at least `coldTemperature`), while the mean reward of these batches exceeds that of the preceding `entropyBatches` by at most a tenth of `reward_std`.',
	silent:
		'while reward is rising, and once accuracy has reached `solvedAccuracy`, because low entropy is then expected.',
	metrics: ['entropy', 'reward', 'reward_std', 'groups/dead', 'groups/solved_all'],
	thresholds: [
		'entropyShare',
		'entropyFloor',
		'entropyDead',
		'entropyHotter',
		'entropyBatches',
		'coldTemperature',
		'solvedAccuracy',
	],
	watch: (run) => new EntropyWatch(run),
};
