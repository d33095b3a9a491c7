import { conversation } from '../../../core/reward/verification/rowsToVerify.ts';
import { type BatchScore, scoreBatch } from '../../shared/scoreBatch.ts';
import type { PerToken } from '../learner.ts';
import type { Completion } from './rollout.ts';
import type { SamplingHost } from './stageHost.ts';
import { ofTrained } from './trainedTokens.ts';

/**
 * Scores a batch with the recipe's rewards, and logs what they print. Rejects only with `cancelled`.
 * @param known reward columns computed elsewhere, with one value per completion
 */
export async function scoreCompletions(
	host: Pick<SamplingHost, 'parts' | 'progress' | 'watch' | 'interrupt' | 'noteOutput'>,
	completions: readonly Completion[],
	known: Readonly<Record<string, readonly (number | null)[]>> = {},
): Promise<BatchScore> {
	const { parts, progress, watch } = host;
	const scored = await watch.measure('reward', () =>
		scoreBatch(
			parts.rewards.scorers,
			completions.map(({ posed: { problem, prompt }, completion, messages, sample }) => ({
				prompt,
				completion,
				answer: problem.answer,
				row: problem.row,
				truncated: sample.truncated,
				entropy: meanOf(ofTrained(sample.entropies, sample.trained)),
				...(sample.spread === undefined ? {} : { selfCertainty: meanOf(sample.spread.selfCertainties) }),
				...(messages === undefined ? {} : { messages: conversation(prompt, messages) }),
			})),
			{ step: progress.step, signal: host.interrupt },
			known,
		),
	);
	for (const [column, lines] of scored.output) host.noteOutput(column, lines);
	return scored;
}

function meanOf(values: PerToken): number {
	return values.reduce((sum, value) => sum + value, 0) / values.length;
}
