import { Failure } from '../../base/failure.ts';
import type { ScorerSpec } from '../../protocol/searchSpec.ts';
import type { OpenScorer, ScorerContext } from './scorerContext.ts';

/**
 * Opens a scorer for thoughts, loading only the code needed for its type. Fails with `invalid`, `missing` or
 * `cancelled`, or with `unsupported` if the policy lacks a required capability.
 */
export async function openScorer(spec: ScorerSpec, context: ScorerContext, signal?: AbortSignal): Promise<OpenScorer> {
	switch (spec.use) {
		case 'reward':
		case 'process-reward': {
			const { openRewardScorer } = await import('./rewardScorer.ts');
			return openRewardScorer(spec, context, signal);
		}
		case 'value':
		case 'process':
		case 'reward-model': {
			const { openHeadScorer } = await import('./headScorer.ts');
			return openHeadScorer(spec, context, signal);
		}
		case 'self-evaluation':
		case 'judge': {
			const { openJudgeScorer } = await import('./judgeScorer.ts');
			return openJudgeScorer(spec.use === 'judge' ? spec : { use: 'self-evaluation' }, context, signal);
		}
		case 'mean-logprob': {
			const { openMeanLogprob } = await import('./meanLogprob.ts');
			return openMeanLogprob(context.policy);
		}
		case 'self-certainty': {
			const { openSelfCertainty } = await import('./selfCertainty.ts');
			return openSelfCertainty(context.policy);
		}
		case 'environment':
			throw new Failure('invalid', 'The scorer "environment" needs a search with an environment.');
		case 'majority': {
			const { openMajority } = await import('./majority.ts');
			return openMajority();
		}
	}
}
