import { scoredEpisodes } from './episodes/episodeBatch.ts';
import type { PosedProblem } from './problemFeed.ts';
import type { Completion, SamplingStage, ScoredGroups } from './rollout.ts';
import { samplingDetail } from './samplingDetail.ts';
import { scoreCompletions } from './scoreCompletions.ts';
import { selfVerdicts } from './selfVerdicts.ts';
import type { SamplingHost } from './stageHost.ts';

/**
 * Samples and scores `num_generations` completions or episodes for each problem.
 * @param round distinguishes the seeds within a generation batch
 */
export async function sampleGroups(
	host: SamplingHost,
	stage: SamplingStage,
	posed: readonly PosedProblem[],
	round: number,
): Promise<ScoredGroups> {
	const { parts, progress } = host;
	const problems = posed.flatMap((problem) => new Array<PosedProblem>(stage.num_generations).fill(problem));
	const seeds = problems.map((_, i) => `${parts.recipe.seed}/sample/${progress.generations}/${round}/${i}`);
	return parts.episodes === null
		? scoredSamples(host, stage, problems, seeds)
		: scoredEpisodes(host, parts.episodes, stage, problems, seeds);
}

async function scoredSamples(
	host: SamplingHost,
	stage: SamplingStage,
	problems: readonly PosedProblem[],
	seeds: readonly string[],
): Promise<ScoredGroups> {
	const completions = await sampleCompletions(host, stage, problems, seeds);
	const verdicts = await host.watch.measure('reward', () => selfVerdicts(host, stage, completions, seeds));
	const { rows, failures, metrics } = await scoreCompletions(host, completions, verdicts);
	return { failures, metrics, rows: rows.map((score, i) => ({ ...score, ...(completions[i] as Completion) })) };
}

/** Samples one completion per entry in `problems`, which can contain duplicates. */
export async function sampleCompletions(
	host: SamplingHost,
	stage: SamplingStage,
	problems: readonly PosedProblem[],
	seeds: readonly string[],
): Promise<Completion[]> {
	const { tokenizer } = host.parts;
	const samples = await host.watch.measure('generate', () =>
		host.sample({
			prompts: problems.map((problem) => problem.promptTokens),
			seeds,
			maxNewTokens: stage.max_completion_length,
			temperature: stage.temperature,
			...samplingDetail(host.parts.recipe),
		}),
	);
	return samples.map((sample, i) => ({
		posed: problems[i] as PosedProblem,
		sample,
		completion: tokenizer.decode(sample.tokens.slice(sample.promptLength)),
	}));
}
