import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';

/** Changes in mean reward up to this fraction of the reward spread are considered noise. */
const noticeable = 0.25;

class LengthWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #lengths = new Recent(limit('lengthBatches'));
	readonly #rewards = new Recent(limit('lengthBatches'));
	readonly #deviations = new Recent(limit('lengthBatches'));
	readonly #facts = new RecentFacts(2);
	/** Length and reward when reward last rose. */
	#anchor: { readonly length: number; readonly reward: number } | null = null;

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#lengths.clear();
		this.#rewards.clear();
		this.#deviations.clear();
		this.#anchor = null;
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const [length, reward] = [row.get('completions/mean_length'), row.get('reward')];
		if (length === null || reward === null) return undefined;
		this.#lengths.push(length);
		this.#rewards.push(reward);
		const deviation = row.get('reward_std') ?? row.get('group_reward_std');
		if (deviation !== null) this.#deviations.push(deviation);
		// Without a standard deviation, it is unknown which reward changes are significant.
		if (!this.#lengths.full || this.#deviations.count === 0) return [];
		const now = { length: this.#lengths.mean(), reward: this.#rewards.mean() };
		const step = noticeable * this.#deviations.mean();
		this.#anchor ??= now;
		const gain = now.reward - this.#anchor.reward;
		if (gain > step) this.#anchor = now;
		const before = this.#anchor;
		const ratio = now.length / before.length;
		const grows = ratio >= limit('lengthGrowth') && gain <= step;
		const shrinks = ratio <= limit('lengthShrink') && gain < -step;
		if (!grows && !shrinks) return [];
		const numbers = `from ${digits(before.length)} to ${digits(now.length)} tokens`;
		const rewards = `reward went from ${digits(before.reward)} to ${digits(now.reward)}`;
		return [
			{
				about: grows ? 'longer' : 'shorter',
				level: 'warning',
				content: () => ({
					message: grows
						? `Completions have grown ${numbers} without a higher reward: ${rewards}.`
						: `Completions have shrunk ${numbers} and get a lower reward: ${rewards}.`,
					action: grows
						? 'Read a few of them: is the extra length reasoning, padding, or a loop? A length or repetition penalty, or loss_type dr_grpo, removes the incentive.'
						: 'Read a few of them: does a reward favor brevity, or does the policy answer without reasoning?',
					metrics: ['completions/mean_length', 'reward'],
					evidence: this.#facts.evidence(() => true),
					recipe: recipeAdvice(
						recipePath(this.#run, 'rewards'),
						grows ? 'a length or repetition penalty' : 'a lower weight for brevity rewards',
					),
				}),
			},
		];
	}
}

export const lengthDrift: Rule = {
	name: 'length-drift',
	title: 'Length drift',
	fires:
		'mean `completions/mean_length` over the last `lengthBatches` batches is >= `lengthGrowth` x its value when reward last rose, or <= `lengthShrink` x that value while reward has fallen. A rise or fall in reward means more than a quarter of `reward_std`.',
	silent: 'for growth accompanied by higher reward, and for shorter completions with the same reward.',
	metrics: ['completions/mean_length', 'reward', 'reward_std'],
	thresholds: ['lengthGrowth', 'lengthShrink', 'lengthBatches'],
	watch: (run) => new LengthWatch(run),
};
