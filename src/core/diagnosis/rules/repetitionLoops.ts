import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { percent } from '../words.ts';

class LoopsWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #facts = new RecentFacts(limit('loopSteps'));

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#facts.clear();
	}

	row(_row: Row): undefined {}

	step(facts: StepFacts): readonly RuleFinding[] | undefined {
		this.#facts.push(facts);
		if (this.#facts.count < limit('loopSteps')) return [];
		// This loop visits every rollout of the last steps again at each step.
		const loopShare = limit('loopShare');
		let rollouts = 0;
		let loops = 0;
		for (const { group } of this.#facts.groups()) {
			for (const share of group.repetition) {
				if (share === null) continue;
				rollouts++;
				if (share >= loopShare) loops++;
			}
		}
		if (rollouts === 0 || loops / rollouts < limit('loopRollouts')) return [];
		const share = loops / rollouts;
		return [
			{
				level: 'warning',
				content: () => ({
					message: `${percent(share)} of the completions in the last ${limit('loopSteps')} steps with rollouts loop: at least half of their 4-grams repeat earlier ones.`,
					action:
						'Penalize repetition, or find out what rewards it, such as a length reward or a limit that is reached without an answer.',
					metrics: ['completions/mean_length', 'completions/clipped_ratio'],
					evidence: this.#facts.evidence((group, i) => (group.repetition[i] ?? 0) >= limit('loopShare')),
					recipe: recipeAdvice(recipePath(this.#run, 'rewards'), 'a repetition penalty, such as {"use": "repetition"}'),
				}),
			},
		];
	}
}

export const repetitionLoops: Rule = {
	name: 'repetition',
	title: 'Repeated n-grams',
	fires:
		'over the last `loopSteps` steps with rollouts, the fraction of completions in which at least `loopShare` of the 4-grams repeat earlier ones is >= `loopRollouts`. Completions with fewer than `loopWords` 4-grams never count as loops.',
	silent: 'for recurring formulas, and for short completions.',
	metrics: [],
	thresholds: ['loopShare', 'loopWords', 'loopRollouts', 'loopSteps'],
	watch: (run) => new LoopsWatch(run),
};
