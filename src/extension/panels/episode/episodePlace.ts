import { lstat } from 'node:fs/promises';
import { isAbsolute, normalize } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { isEnvironmentFile } from '../../../core/episode/environmentLanguage.ts';
import { isServerAddress } from '../../../core/episode/serverAddress.ts';
import { decodeOrThrow } from '../../../protocol/decode.ts';
import { episodeStateSchema } from '../../../protocol/episodeMessages.ts';
import { isManifest } from '../../environments/manifestFiles.ts';
import type { StartedView } from './episodeViewSession.ts';
import type { RecordedEpisode } from './shownEpisode.ts';

/** Subject of an episode view: an environment file in the workspace, a run's copy of one, a package, or a server. */
export interface EpisodePlace {
	/** Absolute path of the environment file or of a package's manifest, or a server's address. */
	readonly file: string;
	/** Folder of the run that this copy belongs to; null for a workspace file. */
	readonly runFolder: string | null;
}

/** A view restored after a reload. */
export interface RestoredPlace extends EpisodePlace {
	readonly started: StartedView;
}

/** An episode to show in the view. */
export type OpenedEpisode = RecordedEpisode;

/**
 * Returns the place and the episodes in a saved state. Accepts only server addresses and regular files named like an
 * environment or manifest. Manifests and servers are not used until the user has agreed. Fails with `invalid` or
 * `missing`.
 */
export async function restoredPlace(state: unknown): Promise<RestoredPlace> {
	const saved = decodeOrThrow(episodeStateSchema, state, 'The saved view state');
	const { runFolder, branches, show } = saved;
	const path = isAbsolute(saved.file) && (isEnvironmentFile(saved.file) || (isManifest(saved.file) && !runFolder));
	const server = isServerAddress(saved.file) && runFolder === null;
	if ((!path && !server) || (runFolder !== null && !isAbsolute(runFolder))) {
		throw new Failure(
			'invalid',
			'The saved view state does not refer to an environment file.',
			'Open the file instead.',
		);
	}
	const file = server ? saved.file : normalize(saved.file);
	const found = server ? null : await lstat(file).catch(() => null);
	if (!server && !found?.isFile()) {
		throw new Failure('missing', `The environment file ${file} no longer exists.`, 'Open another one.');
	}
	const known = new Set(branches.map(({ id }) => id));
	return {
		file,
		runFolder: runFolder === null ? null : normalize(runFolder),
		// Version numbers are from the previous view, and the code may have changed since then.
		started: {
			branches: branches.map((branch) => ({ ...branch, version: null })),
			show: show !== null && known.has(show.branch) ? show : null,
		},
	};
}
