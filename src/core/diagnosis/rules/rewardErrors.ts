import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { judgesAnswer } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits, quoted } from '../words.ts';

const windowBatches = 10;
const maxRewards = 50;

/** Detects rewards that fail. Error counts are recorded only for batches with failures, so a missing value means 0. */
class ErrorsWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #errors = new Map<string, Recent>();

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#errors.clear();
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		for (const metric of row.names) {
			const name = /^rewards\/(.+)\/errors$/s.exec(metric)?.[1];
			if (name === undefined || this.#errors.has(name) || this.#errors.size >= maxRewards) continue;
			this.#errors.set(name, new Recent(windowBatches));
		}
		if (this.#errors.size === 0 || row.get('reward') === null) return undefined;
		const found: RuleFinding[] = [];
		for (const [name, errors] of this.#errors) {
			errors.push(row.get(`rewards/${name}/errors`) ?? 0);
			const failing = errors.values().filter((count) => count > 0).length;
			if (failing >= limit('errorBatches')) found.push(this.#holding(name, errors.mean(), failing));
		}
		return found;
	}

	#holding(name: string, mean: number, failing: number): RuleFinding {
		const at = this.#run.rewards.findIndex((reward) => reward.name === name);
		const path = at < 0 ? null : recipePath(this.#run, 'rewards', at);
		// Without the correctness reward, there would be nothing to learn.
		const isSpare = this.#run.rewards.length > 1 && !judgesAnswer(name);
		return {
			about: name.slice(0, 100),
			level: 'error',
			content: () => ({
				cause: `reward ${quoted(name)} fails on some completions`,
				message: `The reward ${quoted(name)} failed on ${digits(mean)} completions per batch in ${failing} of the last ${windowBatches} batches. These completions are excluded from their groups.`,
				action: 'Fix the reward function; the rollouts show the error for each row. Until then, train without it.',
				metrics: [`rewards/${name}/errors`],
				evidence: [],
				recipe: recipeAdvice(path, 'a reward that does not fail, or none', path !== null && isSpare ? [{ path }] : []),
			}),
		};
	}
}

export const rewardErrors: Rule = {
	name: 'reward-errors',
	title: 'Reward failures',
	fires:
		'`rewards/NAME/errors` is above 0 in at least `errorBatches` of the last 10 batches. The suggested fix removes the reward unless it measures correctness.',
	silent: 'for isolated failures, such as a timeout on a busy machine.',
	metrics: ['rewards/NAME/errors'],
	thresholds: ['errorBatches'],
	explains: ['dead-groups', 'dominant-reward'],
	watch: (run) => new ErrorsWatch(run),
};
