import { join } from 'node:path';
import { requireInside } from '../files/ownFolder.ts';
import { annotationFolder, ownFormat } from './annotationFolder.ts';
import { runFiles } from './runFiles.ts';

const folderName = 'reports';

/**
 * Returns the folder of the reports that agents write on a run, which does not have to exist: in the run folder, or in the
 * user's data folder for runs of other trainers. Fails with `invalid` if it is a link to other files, because a run folder
 * can come from someone else.
 */
export async function reportFolder(run: { readonly folder: string; readonly format: string }): Promise<string> {
	if (run.format === ownFormat) return requireInside(run.folder, runFiles.annotations, folderName);
	return join(await annotationFolder(run), folderName);
}
