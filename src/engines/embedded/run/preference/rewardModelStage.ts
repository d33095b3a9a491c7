import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import { inEvaluation, type JudgedPair, scoreMetrics } from '../../../../core/preference/pairLoss.ts';
import type { ResolvedRewardModelStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { PerToken, Sequence } from '../../learner.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import { type PreferencePairs, rowsOf, type TokenPair } from './pairFiles.ts';

/** Returns the pairs' sequences without end-of-sequence tokens, matching what `policy/value` and search score. */
function texts(pairs: readonly TokenPair[]): Sequence[] {
	return rowsOf(pairs).map(({ tokens, promptLength }) => ({ tokens: tokens.slice(0, -1), promptLength }));
}

/** Returns the score at the end of each sequence. */
function scores(values: readonly PerToken[]): JudgedPair[] {
	const at = (row: number) => values[row]?.at(-1) as number;
	return Array.from({ length: values.length / 2 }, (_, i) => ({ chosen: at(2 * i), rejected: at(2 * i + 1) }));
}

/**
 * Trains a reward model on top of the frozen policy. The loss is -log sigmoid of the score difference between the
 * preferred and the rejected completion (Bradley and Terry 1952; Ouyang et al. 2022, equation 1), averaged over the
 * update's pairs.
 */
export async function runRewardModelStage(
	host: StageHost,
	stageInForce: () => ResolvedRewardModelStage,
	pairs: PreferencePairs,
): Promise<Verdict> {
	const { learner, recipe } = host.parts;
	const held = texts(pairs.heldOut.slice(0, recipe.evaluate.problems));
	const evaluate = async (): Promise<Metrics> =>
		held.length === 0 ? {} : inEvaluation(scoreMetrics(scores(await learner.values(held, 'reward'))));
	for (;;) {
		const start = performance.now();
		const stage = stageInForce();
		const rows = texts(pairs.batch(host.progress.stageStep, stage.batch_size));
		const learningRate = learningRateAt(stage, host.progress.stageStep);
		const result = await host.watch.measure('update', () =>
			learner.updateRewardModel(rows, optimizerSettings(stage, learningRate)),
		);
		checkFinite(result, host.progress.step + 1);
		const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
		host.progress.tokens += tokens;
		const seconds = (performance.now() - start) / 1000;
		const verdict = await host.endUpdate({
			batchEnds: true,
			batchStart: host.progress.step,
			evaluate,
			metrics: {
				...scoreMetrics(scores(result.values)),
				loss: metricValue(result.loss),
				grad_norm: metricValue(result.gradNorm),
				learning_rate: learningRate,
				num_tokens: host.progress.tokens,
				step_time: seconds,
				'throughput/tokens': tokens / seconds,
			},
		});
		if (verdict !== 'next') return verdict;
	}
}
