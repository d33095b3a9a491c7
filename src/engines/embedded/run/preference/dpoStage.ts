import { learningRateAt } from '../../../../core/grpo/learningRate.ts';
import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import { implicitRewardMetrics, inEvaluation, type JudgedPair } from '../../../../core/preference/pairLoss.ts';
import type { ResolvedDpoStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { DpoRow, PerToken } from '../../learner.ts';
import { checkFinite, optimizerSettings, type StageHost, type Verdict } from '../stageHost.ts';
import { type PreferencePairs, rowsOf, type TokenPair } from './pairFiles.ts';

const sumOf = (values: PerToken): number => values.reduce((sum, value) => sum + value, 0);

/**
 * Computes log-probabilities and implicit rewards, which are beta times the policy-reference log-ratio (Rafailov et al.
 * 2023, equation 5).
 */
function judged(policy: readonly number[], reference: readonly number[], beta: number) {
	const pairs: JudgedPair[] = [];
	let chosen = 0;
	let rejected = 0;
	for (let i = 0; i < policy.length; i += 2) {
		const [better, worse] = [policy[i] as number, policy[i + 1] as number];
		chosen += better;
		rejected += worse;
		pairs.push({
			chosen: beta * (better - (reference[i] as number)),
			rejected: beta * (worse - (reference[i + 1] as number)),
		});
	}
	return { pairs, logps: { chosen: chosen / pairs.length, rejected: rejected / pairs.length } };
}

function pairMetrics(policy: readonly number[], reference: readonly number[], beta: number): Metrics {
	const { pairs, logps } = judged(policy, reference, beta);
	return {
		...implicitRewardMetrics(pairs),
		'logps/chosen': metricValue(logps.chosen),
		'logps/rejected': metricValue(logps.rejected),
	};
}

/**
 * Direct preference optimization (Rafailov et al. 2023, equation 7). The loss for a pair is -log sigmoid of beta times
 * the difference between the two policy-reference log-ratios, each summed over the completion's tokens. The update loss
 * is the mean over its pairs. The reference is the policy at the start of the stage.
 */
export async function runDpoStage(
	host: StageHost,
	stageInForce: () => ResolvedDpoStage,
	pairs: PreferencePairs,
): Promise<Verdict> {
	const { learner, recipe } = host.parts;
	const held = pairs.heldOut.slice(0, recipe.evaluate.problems);
	const referenceOf = async (list: readonly TokenPair[]) =>
		(await learner.logprobs(rowsOf(list), 'reference', 1)).map(sumOf);
	// The reference does not change during this stage, so compute its held-out values only once.
	let heldReference: Promise<readonly number[]> | null = null;
	for (;;) {
		const start = performance.now();
		const stage = stageInForce();
		const batch = pairs.batch(host.progress.stageStep, stage.batch_size);
		const reference = await host.watch.measure('logprobs', () => referenceOf(batch));
		const rows = rowsOf(batch).map((row, i): DpoRow => ({ ...row, refLogprob: reference[i] as number }));
		const learningRate = learningRateAt(stage, host.progress.stageStep);
		const result = await host.watch.measure('update', () =>
			learner.updateDpo(rows, { beta: stage.beta }, optimizerSettings(stage, learningRate)),
		);
		checkFinite(result, host.progress.step + 1);
		const tokens = rows.reduce((sum, row) => sum + row.tokens.length, 0);
		const targets = rows.reduce((sum, row) => sum + row.tokens.length - row.promptLength, 0);
		host.progress.tokens += tokens;
		const seconds = (performance.now() - start) / 1000;
		const also = async (): Promise<Metrics> => {
			heldReference ??= referenceOf(held);
			const policy = (await learner.logprobs(rowsOf(held), 'policy', 1)).map(sumOf);
			return inEvaluation(pairMetrics(policy, await heldReference, stage.beta));
		};
		const verdict = await host.endUpdate({
			batchEnds: true,
			batchStart: host.progress.step,
			...(held.length === 0 ? {} : { also }),
			metrics: {
				...pairMetrics(result.logprobs.map(sumOf), reference, stage.beta),
				loss: metricValue(result.loss),
				grad_norm: metricValue(result.gradNorm),
				learning_rate: learningRate,
				entropy: metricValue(result.entropies.reduce((sum, row) => sum + sumOf(row), 0) / targets),
				num_tokens: host.progress.tokens,
				step_time: seconds,
				'throughput/tokens': tokens / seconds,
			},
		});
		if (verdict !== 'next') return verdict;
	}
}
