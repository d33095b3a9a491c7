import { basename } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { isEnvironmentFile } from '../../../core/episode/environmentLanguage.ts';
import { decodeResolvedRecipe } from '../../../core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { rolloutEpisode } from '../../../protocol/rolloutEpisode.ts';
import { type RolloutLine, stepText } from '../../../protocol/rolloutLine.ts';
import { type Agree, requireOwnRun } from '../../../runs/foreignCode.ts';
import { checkRewardCopies, rewardCopyPath } from '../../../runs/rewardCopies.ts';
import { readResolvedRecipe } from '../../../runs/runReader.ts';
import type { EpisodePlace } from './episodePlace.ts';
import { type RecordedEpisode, rolloutRecording } from './shownEpisode.ts';

/** Episode of a rollout, and the run's copy of its environment. */
export interface OpenedRollout {
	readonly place: EpisodePlace;
	readonly episode: RecordedEpisode;
}

/**
 * Returns a rollout's episode. Fails with `missing` if the turns or the row were not recorded, and with the errors of
 * {@link environmentOfRun}.
 */
export async function openedRollout(runFolder: string, line: RolloutLine): Promise<OpenedRollout> {
	const recorded = rolloutEpisode(line.extra);
	if (recorded?.turns === undefined) {
		throw new Failure('missing', 'The turns of this rollout were not recorded.', 'Open another rollout.');
	}
	const { row, group, index, rewards } = line;
	if (typeof row !== 'object' || row === null || Array.isArray(row)) {
		throw new Failure('missing', 'The dataset row of this rollout was not recorded.', 'Open another rollout.');
	}
	const { file } = await environmentOfRun(runFolder);
	const label = `${stepText(line)}group ${group}, completion ${index}`;
	const columns = row as Readonly<Record<string, unknown>>;
	const episode = rolloutRecording(recorded, label, { number: null, columns }, rewards.environment);
	return { place: { file, runFolder }, episode };
}

/**
 * Returns a run's copy of its environment file, and its dataset if that is a JSONL file. Fails with `missing` if the
 * run has no environment, and with `unsupported` if it is not a file.
 */
export async function environmentOfRun(
	runFolder: string,
): Promise<{ readonly file: string; readonly dataset: string | null; readonly recipe: ResolvedRecipe }> {
	const recipe = decodeResolvedRecipe(await readResolvedRecipe(runFolder), `The recipe of ${basename(runFolder)}`);
	const { environment, dataset } = recipe;
	if (environment === undefined) {
		throw new Failure('missing', `${basename(runFolder)} has no environment.`, 'Open a run with an environment.');
	}
	const named = 'file' in environment ? environment.file : null;
	if (typeof named !== 'string' || !isEnvironmentFile(named)) {
		throw new Failure('unsupported', 'The episode view only supports file-based environments.');
	}
	const path = 'path' in dataset && dataset.path.endsWith('.jsonl') ? dataset.path : null;
	return { file: rewardCopyPath(runFolder, recipe, named), dataset: path, recipe };
}

/**
 * Checks that a run's copy may be run: it must be unchanged, and the user must have started the run or consent to
 * running its code. Fails with the same errors as `checkRewardCopies` and `requireOwnRun`, and with `invalid` if the
 * file is not the run's environment.
 */
export async function requireRunEnvironment(runFolder: string, file: string, agree: Agree): Promise<void> {
	const found = await environmentOfRun(runFolder);
	if (found.file !== file) throw new Failure('invalid', `${file} is not the environment of ${basename(runFolder)}.`);
	await checkRewardCopies(runFolder, found.recipe);
	await requireOwnRun(runFolder, 'engine', agree);
}
