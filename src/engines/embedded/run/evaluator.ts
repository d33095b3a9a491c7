import { isReinforced } from '../../../core/recipe/resolvedRecipe.ts';
import { type Evaluation, EvaluationJudge, type EvaluationSettings } from '../../shared/evaluation.ts';
import type { Sample } from '../learner.ts';
import type { TrainingParts } from './stageHost.ts';

/** Number of completions sampled per batch. */
const chunkRows = 1024;

/**
 * Returns the maximum completion length for evaluations: the limit set in the RL stages, or the whole context. Rows always
 * end at the context limit.
 */
function completionLimit({ recipe, learner }: TrainingParts): number {
	const wanted = recipe.stages.map((stage) => (isReinforced(stage) ? stage.max_completion_length : 0));
	return Math.max(...wanted) || learner.shape.context;
}

/**
 * Measures the accuracy of the current weights by sampling completions for the fixed held-out problems. Uses separate
 * random streams, so training is not affected. Skips problems without a gold answer.
 */
export async function evaluate(parts: TrainingParts, step: number, settings: EvaluationSettings): Promise<Evaluation> {
	const posed = parts.feed.heldOut(settings.problems);
	const limit = completionLimit(parts);
	const rows = posed.flatMap((problem, i) =>
		Array.from({ length: settings.samples }, (_, sample) => ({ posed: problem, problem: i, sample })),
	);
	const judge = new EvaluationJudge(parts.rewards, step);
	for (let start = 0; start < rows.length; start += chunkRows) {
		const chunk = rows.slice(start, start + chunkRows);
		const samples = await parts.learner.sample({
			prompts: chunk.map((row) => row.posed.promptTokens),
			seeds: chunk.map((row) => `${parts.recipe.seed}/${settings.name}/${step}/${row.problem}/${row.sample}`),
			maxNewTokens: limit,
			temperature: settings.temperature,
		});
		await judge.add(
			chunk.map(({ posed: { prompt, problem }, ...place }, i) => {
				const sample = samples[i] as Sample;
				const completion = parts.tokenizer.decode(sample.tokens.slice(sample.promptLength));
				const { answer, row } = problem;
				return { ...place, prompt, completion, answer, row, truncated: sample.truncated };
			}),
		);
	}
	return judge.result(settings);
}
