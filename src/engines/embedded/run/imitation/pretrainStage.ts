import { type Metrics, metricValue } from '../../../../core/grpo/stepMetrics.ts';
import type { ResolvedPretrainStage } from '../../../../core/recipe/resolvedRecipe.ts';
import type { Sequence } from '../../learner.ts';
import type { StageHost, Verdict } from '../stageHost.ts';
import { imitationUpdate } from './imitationUpdate.ts';
import type { PretrainTexts } from './pretrainTexts.ts';

/** Returns how many of the first n rows are worked solutions. Spreads them evenly, without random numbers. */
const workedOf = (n: number, share: number) => Math.floor(n * share);

/** Returns the rows for an update: documents by their position in the run, worked solutions from the problem feed. */
function nextRows(host: StageHost, stage: ResolvedPretrainStage, texts: PretrainTexts | null): Sequence[] {
	const { feed } = host.parts;
	const share = texts === null ? 1 : stage.workedShare;
	const first = host.progress.step * stage.batch_size;
	const isWorked = (n: number) => workedOf(n + 1, share) > workedOf(n, share);
	const places = Array.from({ length: stage.batch_size }, (_, i) => first + i);
	const worked = feed.nextWorked(places.filter(isWorked).length);
	return places.map((n) =>
		isWorked(n)
			? { tokens: (worked.shift() as (typeof worked)[number]).tokens, promptLength: 1 }
			: (texts as PretrainTexts).at(n - workedOf(n, share)),
	);
}

/** Returns the mean negative log-probability of held-out text tokens, and its exponential. */
async function heldOutLoss(host: StageHost, texts: PretrainTexts): Promise<Metrics> {
	const { learner, recipe } = host.parts;
	const rows = texts.heldOut(recipe.evaluate.problems);
	if (rows.length === 0) return {};
	let sum = 0;
	let count = 0;
	for (const row of await learner.logprobs(rows, 'policy', 1)) {
		for (const logprob of row) sum -= logprob;
		count += row.length;
	}
	const loss = sum / count;
	return { 'eval/text/loss': metricValue(loss), 'eval/text/perplexity': metricValue(Math.exp(loss)) };
}

/**
 * Pretraining: next-token prediction on whole documents, from bos to eos. A `workedShare` fraction of the rows are
 * worked solutions, whose prompts are trained on as well.
 * @param texts documents, or null to train on worked solutions only
 */
export async function runPretrainStage(
	host: StageHost,
	stage: () => ResolvedPretrainStage,
	texts: PretrainTexts | null,
): Promise<Verdict> {
	for (;;) {
		const start = performance.now();
		const settings = stage();
		const rows = nextRows(host, settings, texts);
		const also = texts === null ? undefined : () => heldOutLoss(host, texts);
		const verdict = await imitationUpdate(host, settings, rows, start, { also });
		if (verdict !== 'next') return verdict;
	}
}
