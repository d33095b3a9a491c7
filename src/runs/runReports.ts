import { join } from 'node:path';
import { reportName } from '../core/address/dataAddress.ts';
import { requireInside } from '../files/ownFolder.ts';
import { listFolder } from '../files/safeFile.ts';
import { annotationFolder, ownFormat } from './annotationFolder.ts';
import { runFiles } from './runFiles.ts';
import { isRunFolder } from './runFolders.ts';

const folderName = 'reports';

/**
 * Returns the folder for the reports that agents write on a run: inside the run folder or, for other trainers' runs, in
 * the user's data folder. It does not have to exist. Fails with `invalid` if it is a link to other files, because a run
 * folder can come from someone else.
 */
export async function reportFolder(run: { readonly folder: string; readonly format: string }): Promise<string> {
	if (run.format === ownFormat) return requireInside(run.folder, runFiles.annotations, folderName);
	return join(await annotationFolder(run), folderName);
}

/**
 * Returns the names of the reports on a run, without the extension, in alphabetical order. Reports in a folder that is a
 * link are not listed, because they cannot be read either.
 */
export async function reportNames(run: string): Promise<string[]> {
	try {
		const format = (await isRunFolder(run)) ? ownFormat : 'foreign';
		const entries = await listFolder(await reportFolder({ folder: run, format }));
		const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.md'));
		return files
			.map(({ name }) => name.slice(0, -'.md'.length))
			.filter((name) => reportName.test(name))
			.sort();
	} catch {
		return [];
	}
}
