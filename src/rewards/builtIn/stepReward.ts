import { Failure } from '../../base/failure.ts';
import { aggregateSteps, splitSteps } from '../../core/reward/processReward.ts';
import { thinkingOf } from '../../core/reward/rewardSample.ts';
import type { TraceTags } from '../../core/trace/trace.ts';
import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import { apiKeysOf } from '../../rpc/http/apiKeys.ts';
import type { BuiltIn } from '../builtInReward.ts';
import { JsonServer } from './jsonServer.ts';
import { type StepScorer, stepServer } from './stepServer.ts';

async function scorerOf(entry: RewardEntry<'process'>): Promise<StepScorer> {
	if ((entry.model === undefined) === (entry.url === undefined)) {
		throw new Failure('invalid', `Reward "${entry.name}" requires a model.`, 'Add either "model" or "url".');
	}
	if (entry.url !== undefined) return stepServer(entry, new JsonServer({ ...entry, keys: apiKeysOf(process.env) }));
	const { OnnxModel } = await import('../onnxModel.ts');
	return OnnxModel.load(entry);
}

/**
 * Creates the `process` reward: a model scores the steps of the thinking section, and the scores are combined into one
 * value. The value is null if there is nothing to score. A row whose steps cannot be scored gets an error.
 */
export async function createProcessReward(entry: RewardEntry<'process'>, tags: TraceTags): Promise<BuiltIn> {
	const scorer = await scorerOf(entry);
	return {
		concurrency: entry.url === undefined ? 1 : entry.concurrency,
		async score(sample, signal) {
			const steps = splitSteps(thinkingOf(sample, tags) ?? '', entry.steps, entry.maxSteps);
			if (steps.length === 0) return null;
			return aggregateSteps(await scorer.score(sample.prompt, steps, signal), entry.aggregate);
		},
		dispose: () => scorer.dispose(),
	};
}
