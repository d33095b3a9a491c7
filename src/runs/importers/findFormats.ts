import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskFolder } from './diskFolder.ts';
import { formats } from './formats.ts';
import type { RunFormat } from './runFormat.ts';

/** The formats that a folder is a run of, most likely first; none: it is not a run of another trainer. */
export async function findFormats(folder: string, of: readonly RunFormat[] = formats): Promise<RunFormat[]> {
	const path = await realpath(folder).catch(() => resolve(folder));
	// One view for all of them: what one has listed another need not.
	const view = new DiskFolder(path);
	const found: RunFormat[] = [];
	for (const format of of) {
		// A folder that cannot be read is none of theirs.
		if (await format.recognise(view).catch(() => false)) found.push(format);
	}
	return found;
}
