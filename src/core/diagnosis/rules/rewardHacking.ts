import type { EvaluationSummary } from '../../../protocol/evaluation.ts';
import { type DiagnosisRun, type Row, recipeAdvice, recipePath } from '../diagnosisRun.ts';
import { RecentFacts } from '../recentFacts.ts';
import { judgesAnswer, judgesForm } from '../rewardNames.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { Recent } from '../series.ts';
import type { StepFacts } from '../stepFacts.ts';
import { limit } from '../thresholds.ts';
import { digits, quoted } from '../words.ts';

/** A held-out measurement and the state of training at that time. */
interface Point {
	readonly step: number;
	readonly batches: number;
	/** Held-out score. */
	readonly score: number;
	/** Half-width of its 95% interval. */
	readonly margin: number;
	/** Mean reward over the preceding batches. */
	readonly reward: number;
	readonly components: ReadonlyMap<string, number>;
}

/** Increase in a reward's mean, weighted and unweighted. */
interface Rise {
	readonly name: string;
	readonly by: number;
	readonly unweighted: number;
}

const maxPoints = 64;
const maxComponents = 50;
/** Maximum number of held-out sets per run. */
const maxSets = 20;
/** Half-width assumed if no interval is recorded. */
const usualMargin = 0.03;

class HackingWatch implements Watch {
	readonly #run: DiagnosisRun;
	readonly #rewards = new Recent(limit('shortRun'));
	readonly #deviations = new Recent(limit('shortRun'));
	readonly #components = new Map<string, Recent>();
	readonly #points = new Map<string, Point[]>();
	readonly #held = new Map<string, RuleFinding>();
	readonly #facts = new RecentFacts(3);
	#batches = 0;

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#rewards.clear();
		this.#deviations.clear();
		this.#components.clear();
		this.#points.clear();
		this.#held.clear();
		this.#batches = 0;
	}

	step(facts: StepFacts): undefined {
		this.#facts.push(facts);
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		const reward = row.get('reward');
		if (reward !== null) {
			this.#batches++;
			this.#rewards.push(reward);
			const deviation = row.get('reward_std') ?? row.get('group_reward_std');
			if (deviation !== null) this.#deviations.push(deviation);
		}
		let reported = false;
		for (const name of row.names) {
			if (name.startsWith('rewards/') && name.endsWith('/mean')) this.#component(name.slice(8, -5), row.get(name));
			const isHeldOut = name.startsWith('eval/') && /\/(accuracy|reward)$/.test(name);
			const score = isHeldOut ? row.get(name) : null;
			if (score === null) continue;
			const [low, high] = [row.get(`${name}_low`), row.get(`${name}_high`)];
			reported =
				this.#measured(name, row.step, score, low === null || high === null ? null : (high - low) / 2) || reported;
		}
		return reported ? [...this.#held.values()] : undefined;
	}

	evaluation({ name, step, accuracy, low, high }: EvaluationSummary): readonly RuleFinding[] | undefined {
		return this.#measured(`eval/${name}/accuracy`, step, accuracy, (high - low) / 2)
			? [...this.#held.values()]
			: undefined;
	}

	#component(name: string, mean: number | null): void {
		if (mean === null) return;
		let recent = this.#components.get(name);
		if (recent === undefined) {
			if (this.#components.size >= maxComponents) return;
			recent = new Recent(limit('shortRun'));
			this.#components.set(name, recent);
		}
		recent.push(mean);
	}

	/** @returns false if the measurement had already been recorded */
	#measured(name: string, step: number, score: number, margin: number | null): boolean {
		let points = this.#points.get(name);
		if (points === undefined) {
			if (this.#points.size >= maxSets) return false;
			points = [];
			this.#points.set(name, points);
		}
		const last = points.at(-1);
		// Our own runs report each evaluation twice: in the metrics and as a file.
		if ((last !== undefined && last.step >= step) || !this.#rewards.full) return false;
		points.push({
			step,
			batches: this.#batches,
			score,
			margin: margin ?? usualMargin,
			reward: this.#rewards.mean(),
			components: new Map([...this.#components].map(([component, recent]) => [component, recent.mean()])),
		});
		if (points.length > maxPoints) points.shift();
		const holding = this.#judge(name, points);
		if (holding === null) this.#held.delete(name);
		else this.#held.set(name, holding);
		return true;
	}

	#judge(name: string, points: readonly Point[]): RuleFinding | null {
		const now = points.at(-1) as Point;
		// If completion rewards do not vary, no rise is significant.
		if (this.#deviations.count === 0 || this.#deviations.mean() <= 0) return null;
		if (name.endsWith('/accuracy') && now.score >= limit('solvedAccuracy')) return null;
		const wanted = limit('hackingRise') * this.#deviations.mean();
		let start: Point | null = null;
		let peak = Number.NEGATIVE_INFINITY;
		// Iterate backward to track the best later score, which must not exceed the baseline by more than its margin.
		for (let i = points.length - 1; i >= 0; i--) {
			const point = points[i] as Point;
			const long =
				points.length - 1 - i >= limit('hackingEvaluations') && now.batches - point.batches >= limit('hackingBatches');
			const flat = peak <= point.score + point.margin;
			if (long && flat && now.reward - point.reward >= wanted && (start === null || point.reward < start.reward)) {
				start = point;
			}
			peak = Math.max(peak, point.score);
		}
		if (start === null) return null;
		const from = start;
		const rise = this.#greatestRise(from, now);
		// While the format is being learned, reward rises but held-out results do not, which is expected.
		if (rise !== null && judgesForm(rise.name)) return null;
		// Training accuracy rose by less than the held-out intervals can resolve.
		const isUnseen = name.endsWith('/accuracy') && rise !== null && rise.unweighted <= from.margin + now.margin;
		if (isUnseen && judgesAnswer(rise.name)) return null;
		const fell = now.score < from.score - from.margin;
		return {
			about: name.slice(0, 100),
			level: fell ? 'error' : 'warning',
			content: () => ({
				message: `Reward is rising but held-out results are not: from step ${from.step} to step ${now.step}, reward went from ${digits(from.reward)} to ${digits(now.reward)}, and ${name} from ${digits(from.score)} to ${digits(now.score)}${rise === null ? '' : `; ${quoted(rise.name)} rose most, by ${digits(rise.by)}`}.`,
				action:
					'Read the completions with the highest rewards: something other than correct answers is being rewarded. Audit the reward, or go back to the checkpoint with the best held-out result.',
				metrics: ['reward', name, ...(rise === null ? [] : [`rewards/${rise.name}/mean`])],
				evidence: this.#evidence(),
				recipe: recipeAdvice(
					recipePath(this.#run, 'rewards'),
					rise === null
						? 'a reward that cannot be gamed'
						: `a lower weight for ${quoted(rise.name)}, or a stricter version`,
				),
			}),
		};
	}

	#greatestRise(from: Point, to: Point): Rise | null {
		let max: Rise | null = null;
		if (to.components.size < 2) return null;
		for (const [name, mean] of to.components) {
			const weight = this.#run.rewards.find((reward) => reward.name === name)?.weight ?? 1;
			const unweighted = mean - (from.components.get(name) ?? mean);
			const by = weight * unweighted;
			if (by > (max?.by ?? 0)) max = { name, by, unweighted };
		}
		return max;
	}

	/**
	 * Returns incorrect completions with high rewards, or the completions with the highest rewards if there is no
	 * correctness reward.
	 */
	#evidence() {
		let highest = Number.NEGATIVE_INFINITY;
		for (const { group } of this.#facts.groups()) {
			for (const reward of group.reward) if (reward !== null && reward > highest) highest = reward;
		}
		const earns = (reward: number | null | undefined) => typeof reward === 'number' && reward >= 0.8 * highest;
		const wrong = this.#facts.evidence((group, i) => group.correct[i] === false && earns(group.reward[i]));
		return wrong.length > 0 ? wrong : this.#facts.evidence((group, i) => earns(group.reward[i]));
	}
}

export const rewardHacking: Rule = {
	name: 'reward-hacking',
	title: 'Reward up, held-out flat',
	fires:
		'between two held-out measurements that are at least `hackingEvaluations` measurements and `hackingBatches` batches apart, mean reward (over 20 batches) rose by >= `hackingRise` x `reward_std`, and no measurement after the first exceeds it by more than half of its 95% interval (0.03 if none is recorded). Reported as an error if the newest measurement is worse by that amount.',
	silent:
		'once held-out accuracy has reached `solvedAccuracy`, while the format reward is rising most (the format is learned first), and if the correctness reward is rising most but by less than the sum of both 95% half-widths, because a small held-out set cannot resolve such a difference.',
	metrics: ['reward', 'reward_std', 'eval/NAME/accuracy', 'eval/NAME/reward'],
	thresholds: ['hackingRise', 'hackingEvaluations', 'hackingBatches', 'solvedAccuracy', 'shortRun'],
	watch: (run) => new HackingWatch(run),
};
