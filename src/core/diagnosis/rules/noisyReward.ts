import { type DiagnosisRun, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import { judgesAnswer } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent, quoted } from '../words.ts';

/** Detects rewards that score identical completions for the same prompt differently. */
class NoiseWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #facts = new RecentFacts(limit('shortRun'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#facts.clear();
	}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		this.#facts.push(facts);
		if (this.#facts.count < limit('shortRun')) return [];
		const counts = new Map<string, { pairs: number; differ: number }>();
		for (const { group } of this.#facts.groups()) {
			for (const [name, { pairs, differ }] of Object.entries(group.repeats ?? {})) {
				const sum = counts.get(name) ?? { pairs: 0, differ: 0 };
				counts.set(name, { pairs: sum.pairs + pairs, differ: sum.differ + differ });
			}
		}
		return [...counts].flatMap(([name, { pairs, differ }]) =>
			pairs >= limit('repeatPairs') && differ >= limit('repeatDiffer') * pairs
				? [this.#holding(name, pairs, differ)]
				: [],
		);
	}

	#holding(name: string, pairs: number, differ: number): RuleFinding {
		const at = this.#run.rewards.findIndex((reward) => reward.name === name);
		const path = at < 0 ? null : recipePath(this.#run, 'rewards', at);
		const isSpare = this.#run.rewards.length > 1 && !judgesAnswer(name);
		return {
			about: name.slice(0, 100),
			level: 'warning',
			content: () => ({
				cause: `reward ${quoted(name)} is noisy`,
				message: `The reward ${quoted(name)} gave different scores to ${percent(differ / pairs)} of ${pairs} pairs of identical completions for the same prompt.`,
				action:
					'Make the reward a deterministic function of the prompt and completion (for a judge: temperature 0, several votes), or remove it.',
				metrics: [`rewards/${name}/mean`, `rewards/${name}/std`],
				evidence: this.#facts.evidence((group) => (group.repeats?.[name]?.differ ?? 0) > 0),
				recipe: recipeAdvice(path, 'a deterministic reward, or none', path !== null && isSpare ? [{ path }] : []),
			}),
		};
	}
}

export const noisyReward: Rule = {
	name: 'noisy-reward',
	title: 'Noisy reward',
	fires:
		'over the last `shortRun` steps with rollouts, a reward gave different scores to at least `repeatDiffer` of the pairs of identical completions for the same prompt, provided there are at least `repeatPairs` such pairs. The suggested fix removes the reward unless it measures correctness.',
	silent: 'if no two completions are identical.',
	metrics: [],
	thresholds: ['repeatDiffer', 'repeatPairs', 'shortRun'],
	explains: ['dominant-reward', 'learning-rate-high'],
	watch: (run) => new NoiseWatch(run),
};
