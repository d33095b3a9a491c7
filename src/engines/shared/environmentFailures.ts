import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { EpisodeError } from '../../protocol/episode.ts';
import { type ScoreErrorKind, scoreErrorKinds } from '../../protocol/scorer.ts';
import type { RewardFailures } from './scoreBatch.ts';

/** Kind reported for errors that only occur in episodes. */
const otherKind: ScoreErrorKind = 'invalid';

/** Returns the environment's file, package or server as given in the recipe. */
export function environmentName({ environment }: Pick<ResolvedRecipe, 'environment'>): string {
	return environment?.file ?? environment?.package ?? environment?.server ?? 'environment';
}

/**
 * Converts environment failures in a batch to the format of reward failures.
 * @param index index of one failed episode; `error` is its error
 */
export function environmentFailures(
	column: string,
	file: string,
	{ failed, rows, index, error }: { failed: number; rows: number; index: number; error: EpisodeError },
): RewardFailures {
	const { kind, message, line, stack } = error;
	return {
		column,
		file,
		episodes: true,
		failed,
		rows,
		first: {
			index,
			kind: scoreErrorKinds.find((one) => one === kind) ?? otherKind,
			message,
			...(line === undefined ? {} : { line }),
			...(stack === undefined ? {} : { stack }),
		},
	};
}
