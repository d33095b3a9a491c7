import { type Metrics, metricValue } from '../grpo/stepMetrics.ts';

/** Computes log(1 + exp(z)) without overflow. */
function softplus(z: number): number {
	return Math.max(z, 0) + Math.log1p(Math.exp(-Math.abs(z)));
}

/**
 * Computes -log sigmoid(margin): the negative log-likelihood that the better of two completions wins (Bradley and Terry
 * 1952). The margin is the difference between their scores or, for DPO (Rafailov et al. 2023, equation 7), between
 * their implicit rewards.
 */
export function pairLoss(margin: number): number {
	return softplus(-margin);
}

/** Values of the two completions in a pair, either implicit rewards or scores. */
export interface JudgedPair {
	readonly chosen: number;
	readonly rejected: number;
}

const mean = (values: readonly number[]) => metricValue(values.reduce((a, b) => a + b, 0) / values.length);
const inOrder = ({ chosen, rejected }: JudgedPair): number => (chosen > rejected ? 1 : 0);

/**
 * Computes pair metrics with TRL 1.13's names and definitions (`DPOTrainer`):
 * `rewards/chosen|rejected|accuracies|margins`.
 */
export function implicitRewardMetrics(pairs: readonly JudgedPair[]): Metrics {
	return {
		loss: mean(pairs.map(({ chosen, rejected }) => pairLoss(chosen - rejected))),
		'rewards/chosen': mean(pairs.map(({ chosen }) => chosen)),
		'rewards/rejected': mean(pairs.map(({ rejected }) => rejected)),
		'rewards/accuracies': mean(pairs.map(inOrder)),
		'rewards/margins': mean(pairs.map(({ chosen, rejected }) => chosen - rejected)),
	};
}

/**
 * Computes the same metrics for scores (`RewardTrainer`): `accuracy`, `margin`, `mean_reward`, `min_reward`,
 * `max_reward`.
 */
export function scoreMetrics(pairs: readonly JudgedPair[]): Metrics {
	const scores = pairs.flatMap(({ chosen, rejected }) => [chosen, rejected]);
	return {
		loss: mean(pairs.map(({ chosen, rejected }) => pairLoss(chosen - rejected))),
		accuracy: mean(pairs.map(inOrder)),
		margin: mean(pairs.map(({ chosen, rejected }) => chosen - rejected)),
		mean_reward: mean(scores),
		min_reward: metricValue(scores.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)),
		max_reward: metricValue(scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)),
	};
}

/** Renames metrics for an evaluation: `eval/<name>`. */
export function inEvaluation(metrics: Metrics): Metrics {
	return Object.fromEntries(Object.entries(metrics).map(([name, value]) => [`eval/${name}`, value]));
}
