import { realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { DiskFolder } from './diskFolder.ts';
import { formats } from './formats.ts';
import type { RunFormat } from './runFormat.ts';

/** Returns the formats that match a folder, most likely first; empty if it is not another trainer's run. */
export async function findFormats(folder: string, of: readonly RunFormat[] = formats): Promise<RunFormat[]> {
	const path = await realpath(folder).catch(() => resolve(folder));
	// All formats share one view, so that folders are listed only once.
	const view = new DiskFolder(path);
	const found: RunFormat[] = [];
	for (const format of of) {
		// A folder that cannot be read does not match.
		if (await format.recognize(view).catch(() => false)) found.push(format);
	}
	return found;
}
