import type { ResolvedHeadStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { PosedProblem } from '../problemFeed.ts';
import type { TrainingParts } from '../stageHost.ts';
import type { LabeledRow } from './labeledRow.ts';
import { judgedSamples, outcomeLabels, outcomeOfSteps, ruleOf } from './labelPolicy.ts';

/** Number of completions sampled per batch. */
const chunkRows = 1024;

/**
 * Returns completions for held-out problems with their outcomes. The policy is frozen while a head is trained, so the
 * completions are the same for all evaluations in the stage, and after a resume.
 */
export async function heldOutRows(parts: TrainingParts, stage: ResolvedHeadStage, step: number): Promise<LabeledRow[]> {
	const { problems, samples } = parts.recipe.evaluate;
	const posed = parts.feed.heldOut(problems);
	const asked = posed.flatMap((problem, i) =>
		Array.from({ length: samples }, (_, k) => ({ problem, seed: `${parts.recipe.seed}/head-heldout/${i}/${k}` })),
	);
	const rows: LabeledRow[] = [];
	for (let start = 0; start < asked.length; start += chunkRows) {
		const chunk = asked.slice(start, start + chunkRows);
		const completions = await parts.learner.sample({
			prompts: chunk.map(({ problem }) => problem.promptTokens),
			seeds: chunk.map(({ seed }) => seed),
			maxNewTokens: stage.max_completion_length,
			temperature: stage.temperature,
		});
		const judged = await judgedSamples(
			parts,
			chunk.map(({ problem }): PosedProblem => problem),
			completions,
			step,
		);
		for (const one of judged) {
			rows.push(stage.type === 'value-model' ? outcomeLabels(one) : outcomeOfSteps(one, ruleOf(stage), parts));
		}
	}
	return rows;
}
