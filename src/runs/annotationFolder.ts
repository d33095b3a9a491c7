import { createHash } from 'node:crypto';
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { runFiles } from './runFiles.ts';
import { isRunFolder, labHome } from './runRegistry.ts';

/** The format of runs that this product's engines write. */
export const ownFormat = 'reasoning-lab';

/**
 * Where what the lab says about a run lies: labels, alerts, name and tags. Beside a run of our own; of another trainer's
 * run, in whose folder nothing is written, in the per-user data folder, which editor and command line share. The folder
 * need not be there yet.
 */
export async function annotationFolder(
	run: { readonly folder: string; readonly format: string },
	home = labHome(),
): Promise<string> {
	if (run.format === ownFormat) return join(run.folder, runFiles.annotations);
	const path = await realpath(run.folder).catch(() => run.folder);
	return join(home, 'annotations', createHash('sha256').update(path).digest('hex').slice(0, 32));
}

/** As {@link annotationFolder}, of a folder whose format the caller does not know. */
export async function annotationFolderOf(folder: string): Promise<string> {
	return annotationFolder({ folder, format: (await isRunFolder(folder)) ? ownFormat : 'foreign' });
}
