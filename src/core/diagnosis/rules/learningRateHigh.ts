import type { EvaluationSummary } from '../../../protocol/evaluation.ts';
import { type DiagnosisRun, type Row, recipeAdvice, stagePath, stageSetting } from '../diagnosisRun.ts';
import type { Rule, RuleFinding, Watch } from '../rule.ts';
import { deviationOf, OpeningMean, Recent } from '../series.ts';
import { limit } from '../thresholds.ts';
import { digits } from '../words.ts';
import { lowered } from './klBlowUp.ts';

/** A held-out accuracy and the half-width of its interval. */
interface Measured {
	readonly step: number;
	readonly accuracy: number;
	readonly margin: number;
}

/** Maximum number of held-out sets per run. */
const maxSets = 20;
/** Half-width assumed if no interval is recorded. */
const usualMargin = 0.05;

/**
 * Detects a policy that got clearly worse during its stage. A small enough step along the gradient of expected reward
 * raises that reward, so the updates of such a policy were too large.
 */
class DegradingWatch implements Watch {
	readonly #run: DiagnosisRun;
	/** The newest values are compared with those of the first batches; all values together show the variation between batches. */
	readonly #recent = new Recent(limit('shortRun'));
	readonly #kl = new Recent(limit('degradeBatches'));
	readonly #evaluations = new Map<string, { readonly first: Measured; last: Measured; below: number }>();
	#opening = new OpeningMean(limit('openingBatches'));
	#deviation = new OpeningMean(limit('openingBatches'));
	#batches = 0;
	#stage = 'grpo';

	constructor(run: DiagnosisRun) {
		this.#run = run;
	}

	stage(): void {
		this.#recent.clear();
		this.#kl.clear();
		this.#evaluations.clear();
		this.#opening = new OpeningMean(limit('openingBatches'));
		this.#deviation = new OpeningMean(limit('openingBatches'));
		this.#batches = 0;
	}

	row(row: Row): readonly RuleFinding[] | undefined {
		this.#stage = row.stage;
		for (const name of row.names) {
			if (!name.startsWith('eval/') || !name.endsWith('/accuracy')) continue;
			const [accuracy, low, high] = [row.get(name), row.get(`${name}_low`), row.get(`${name}_high`)];
			if (accuracy !== null) {
				this.#measured(name, row.step, accuracy, low === null || high === null ? usualMargin : (high - low) / 2);
			}
		}
		const [reward, deviation, kl] = [
			row.get('reward'),
			row.get('reward_std') ?? row.get('group_reward_std'),
			row.get('kl'),
		];
		if (kl !== null) this.#kl.push(kl);
		if (reward === null) return undefined;
		this.#batches++;
		this.#opening.push(reward);
		if (deviation !== null) this.#deviation.push(deviation);
		this.#recent.push(reward);
		return this.#judge();
	}

	evaluation({ name, step, accuracy, low, high }: EvaluationSummary): undefined {
		this.#measured(`eval/${name}/accuracy`, step, accuracy, (high - low) / 2);
	}

	#measured(name: string, step: number, accuracy: number, margin: number): void {
		const now = { step, accuracy, margin };
		const known = this.#evaluations.get(name);
		if (known === undefined) {
			// A later evaluation does not reflect the start of the stage.
			if (this.#batches > limit('openingBatches') || this.#evaluations.size >= maxSets) return;
			this.#evaluations.set(name, { first: now, last: now, below: 0 });
			return;
		}
		if (step <= known.last.step) return;
		known.last = now;
		known.below = accuracy + margin < known.first.accuracy - known.first.margin ? known.below + 1 : 0;
	}

	#judge(): readonly RuleFinding[] {
		const [opening, deviation] = [this.#opening.mean, this.#deviation.mean];
		if (opening === null || deviation === null || !this.#recent.full) return [];
		const now = this.#recent.mean(this.#recent.count - limit('degradeBatches'));
		const noise =
			deviationOf(this.#recent.values()) * Math.sqrt(1 / limit('openingBatches') + 1 / limit('degradeBatches'));
		const fall = opening - now;
		const fell = fall > 0 && fall >= limit('degradeShare') * deviation && fall >= limit('degradeErrors') * noise;
		// If reward is rising, the problem is the reward, not the step size.
		const rose = now > opening + limit('degradeShare') * deviation;
		const heldOut = rose
			? undefined
			: [...this.#evaluations].find(([, { below }]) => below >= limit('degradeEvaluations'));
		if (!fell && heldOut === undefined) return [];
		const rate = stageSetting(this.#run, this.#stage, 'learning_rate');
		const isFree = stageSetting(this.#run, this.#stage, 'beta') === 0;
		const worse = [
			...(fell ? [`reward fell from ${digits(opening)} to ${digits(now)}`] : []),
			...(heldOut === undefined
				? []
				: [`${heldOut[0]} from ${digits(heldOut[1].first.accuracy)} to ${digits(heldOut[1].last.accuracy)}`]),
			...(this.#kl.count === 0 ? [] : [`KL to the reference is ${digits(this.#kl.median())} nats per token`]),
		].join(', ');
		const next = rate === null ? null : lowered(rate);
		const path = stagePath(this.#run, this.#stage, 'learning_rate');
		const beta = stagePath(this.#run, this.#stage, 'beta');
		return [
			{
				...(isFree ? { about: 'no-kl' } : {}),
				level: 'error',
				content: () => ({
					cause: isFree ? 'learning rate too high, without a KL term (beta 0)' : 'learning rate too high',
					message: `The policy is worse than at the start of the stage: ${worse}.`,
					action: `Restart the stage from the preceding checkpoint with a lower learning rate${isFree ? ' and a KL term' : ''}.`,
					metrics: ['reward', ...(heldOut === undefined ? [] : [heldOut[0]]), ...(this.#kl.count === 0 ? [] : ['kl'])],
					evidence: [],
					recipe: recipeAdvice(
						path,
						next === null ? 'lower' : `${next} instead of ${rate}${isFree ? `, and beta ${limit('usualBeta')}` : ''}`,
						path === null || next === null
							? []
							: [
									{ path, value: next },
									...(isFree && beta !== null ? [{ path: beta, value: limit('usualBeta') }] : []),
								],
					),
				}),
			},
		];
	}
}

export const learningRateHigh: Rule = {
	name: 'learning-rate-high',
	title: 'Learning rate too high',
	fires:
		'after `shortRun` batches, mean `reward` over the last `degradeBatches` batches is below that over the first `openingBatches` batches of the stage by >= `degradeShare` x `reward_std` of those batches and by >= `degradeErrors` standard errors (SD of the last `shortRun` batches x sqrt(1/`openingBatches` + 1/`degradeBatches`)); or held-out accuracy is below its value before the stage, with disjoint 95% intervals, in `degradeEvaluations` consecutive evaluations while reward has not risen. The suggested fix divides `learning_rate` by `rateCut`, and sets `beta` to `usualBeta` if it is 0 (`no-kl`).',
	silent:
		'while reward is rising, during the first `shortRun` batches, and if no reward is recorded for the first batches of the run.',
	metrics: ['reward', 'reward_std', 'eval/NAME/accuracy', 'kl'],
	thresholds: [
		'degradeBatches',
		'openingBatches',
		'degradeShare',
		'degradeErrors',
		'degradeEvaluations',
		'rateCut',
		'usualBeta',
		'shortRun',
	],
	explains: [
		'dead-groups',
		'overlong',
		'entropy-collapse',
		'kl-blow-up',
		'length-drift',
		'dominant-reward',
		'wrong-answers',
		'format-without-accuracy',
		'repetition',
	],
	watch: (run) => new DegradingWatch(run),
};
