import type { ScoreItem, Scorer } from '../../core/search/scorer.ts';
import type { OpenScorer } from '../scorers/scorerContext.ts';
import type { OpenEpisodes } from './openEpisodes.ts';

/** Name of the scorer that returns the environment's reward. */
export const environmentScorerName = 'environment';

/** Scores finished episodes with the environment's reward. */
export function openEnvironmentScorer(episodes: OpenEpisodes, plain: (text: string) => string): OpenScorer {
	return {
		name: environmentScorerName,
		bind: () => environmentScorer(episodes, plain),
		dispose: () => undefined,
	};
}

/**
 * The reward can use every column of the row, including the gold answer, so the scorer is an oracle. Episodes from a
 * log are replayed.
 */
function environmentScorer(episodes: OpenEpisodes, plain: (text: string) => string): Scorer {
	const rewardOf = async ({ problem, final, generation, turns = [] }: ScoreItem): Promise<number | null> => {
		if (!final) return null;
		const known = generation?.turn?.reward;
		if (known !== undefined) return known;
		const episode = episodes.replay(problem, turns, plain);
		try {
			return (await episode.reward()).value;
		} finally {
			await episode.end();
		}
	};
	return {
		name: environmentScorerName,
		scope: 'final',
		oracle: true,
		async score(items) {
			return await Promise.all(items.map(rewardOf));
		},
	};
}
