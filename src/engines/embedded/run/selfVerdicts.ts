import { Failure } from '../../../base/failure.ts';
import { selfJudgeReward, verdictProblem } from '../../../core/reward/selfJudgeReward.ts';
import { renderPrompt } from '../../../core/text/template.ts';
import type { RewardEntry } from '../../../protocol/recipeKeys/builtInRewards.ts';
import type { Completion, SamplingStage } from './rollout.ts';
import type { SamplingHost } from './stageHost.ts';

/**
 * Returns the columns for `self-judge` rewards, where the policy that sampled the completions also judges them.
 * @param seeds the completions' seeds
 */
export async function selfVerdicts(
	host: SamplingHost,
	stage: SamplingStage,
	completions: readonly Completion[],
	seeds: readonly string[],
): Promise<Record<string, (number | null)[]>> {
	const columns: Record<string, (number | null)[]> = {};
	for (const reward of host.parts.recipe.rewards) {
		if ('use' in reward && reward.use === 'self-judge') {
			columns[reward.name] = await verdictsOf(host, stage, reward, completions, seeds);
		}
	}
	return columns;
}

async function verdictsOf(
	host: SamplingHost,
	stage: SamplingStage,
	reward: RewardEntry<'self-judge'>,
	completions: readonly Completion[],
	seeds: readonly string[],
): Promise<number[]> {
	const { template, tokenizer } = host.parts;
	const texts = completions.map(({ posed, completion }) => {
		const problem = verdictProblem(reward, posed.problem.prompt, completion, template);
		return problem === null ? null : renderPrompt(template, problem);
	});
	const asked = texts.flatMap((text, i) =>
		text === null ? [] : Array.from({ length: reward.votes }, (_, k) => ({ i, text, k })),
	);
	const prompts = asked.map(({ text }) => {
		const unknown = tokenizer.unknownIn(text);
		if (unknown === null) return tokenizer.encodePrompt(text);
		throw new Failure(
			'invalid',
			`The prompt of the reward "${reward.name}" contains ${JSON.stringify(unknown)}, which is not in the model's vocabulary.`,
			'Change the "prompt" of the reward, or start the run by training on problems that ask for verdicts.',
		);
	});
	const verdicts: string[][] = completions.map(() => []);
	const samples =
		asked.length === 0
			? []
			: await host.sample({
					prompts,
					seeds: asked.map(({ i, k }) => `${seeds[i]}/${reward.name}/${k}`),
					maxNewTokens: stage.max_completion_length,
					temperature: stage.temperature,
				});
	for (const [place, { tokens, promptLength }] of samples.entries()) {
		host.progress.tokens += tokens.length;
		verdicts[asked[place]?.i as number]?.push(tokenizer.decode(tokens.slice(promptLength)));
	}
	return verdicts.map((given) => (given.length === 0 ? 0 : selfJudgeReward(reward, given, template)));
}
