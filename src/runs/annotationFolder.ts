import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { runFiles } from './runFiles.ts';
import { isRunFolder } from './runFolders.ts';
import { labHome } from './runRegistry.ts';

/** Format of runs written by our own engines. */
export const ownFormat = 'reasoning-lab';

/**
 * Returns the folder for annotations on a run: labels, alerts, name and tags. For our own runs it is in the run folder.
 * Other trainers' run folders are never written to, so their annotations are in the per-user data folder, which the
 * editor and the command line share. The folder does not have to exist.
 */
export async function annotationFolder(
	run: { readonly folder: string; readonly format: string },
	home = labHome(),
): Promise<string> {
	if (run.format === ownFormat) return join(run.folder, runFiles.annotations);
	const path = await realpath(run.folder).catch(() => run.folder);
	return join(home, 'annotations', createHash('sha256').update(path).digest('hex').slice(0, 32));
}

/** Same as {@link annotationFolder}, for a folder whose format the caller does not know. */
export async function annotationFolderOf(folder: string): Promise<string> {
	return annotationFolder({ folder, format: (await isRunFolder(folder)) ? ownFormat : 'foreign' });
}
