import { beginsLatentStage, type LatentForm, latentFormAt } from '../../../core/latent/latentCurriculum.ts';
import type { ResolvedSftStage } from '../../../core/recipe/resolvedRecipe.ts';
import { nextDemonstrations } from './episodes/demonstrations.ts';
import type { CompletionTexts } from './imitation/completionTexts.ts';
import { type ImitatedSequence, imitationUpdate } from './imitation/imitationUpdate.ts';
import type { StageHost, Verdict } from './stageHost.ts';

/**
 * Supervised fine-tuning on worked solutions or, in a recipe with an environment, on episodes. The loss is the mean
 * negative log-probability over the batch's completion tokens, including end-of-sequence, but excluding the prompt and
 * the environment's answers. With `latent`, the first steps of worked solutions are replaced by latent thoughts, stage by
 * stage (COCONUT, Hao et al. 2024), and the loss only includes the remaining steps and the answer.
 * @param texts completions from the stage's file, or null to use the worked solutions in the dataset
 */
export async function runSftStage(
	host: StageHost,
	stage: () => ResolvedSftStage,
	texts: CompletionTexts | null,
): Promise<Verdict> {
	for (;;) {
		const start = performance.now();
		const settings = stage();
		const { episodes, learner } = host.parts;
		const { latent } = settings;
		const form = latent === undefined ? null : latentFormAt(latent, host.progress.stageStep);
		if (latent !== undefined && beginsLatentStage(latent, host.progress.stageStep)) await learner.resetOptimizer();
		const rows =
			episodes === null ? workedRows(host, settings, texts, form) : await nextDemonstrations(host, episodes, settings);
		if (rows === 'stop') return 'stop';
		const verdict = await imitationUpdate(host, settings, rows, start, form === null ? {} : latentOptions(form));
		if (verdict !== 'next') return verdict;
	}
}

const latentOptions = ({ stage, thoughts }: LatentForm) => ({
	thoughts,
	metrics: { 'latent/stage': stage, 'latent/thoughts': thoughts },
});

function workedRows(
	{ parts, progress }: StageHost,
	settings: ResolvedSftStage,
	texts: CompletionTexts | null,
	form: LatentForm | null,
): readonly ImitatedSequence[] {
	return (
		texts?.batch(progress.stageStep, settings.batch_size) ??
		parts.feed
			.nextWorked(settings.batch_size, form)
			.map(({ tokens, promptTokens }) => ({ tokens, promptLength: promptTokens.length }))
	);
}
