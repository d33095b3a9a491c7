import type { ResolvedRecipe } from '../../core/recipe/resolvedRecipe.ts';
import type { EpisodeError } from '../../protocol/episode.ts';
import { type ScoreErrorKind, scoreErrorKinds } from '../../protocol/scorer.ts';
import type { RewardFailures } from './scoreBatch.ts';

/** Kind under which errors are reported that only episodes have. */
const otherKind: ScoreErrorKind = 'invalid';

/** Returns the environment's file, package or server as the recipe names it. */
export function environmentName({ environment }: Pick<ResolvedRecipe, 'environment'>): string {
	return environment?.file ?? environment?.package ?? environment?.server ?? 'environment';
}

/**
 * Returns the failures of an environment in a batch in the form in which failures of rewards are reported.
 * @param index of an episode that failed, with its error
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
