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
	return view.snapshot(async () => {
		const found: RunFormat[] = [];
		for (const format of of) if (await matches(format, view)) found.push(format);
		return found;
	});
}

/** Returns the first format that matches a folder: `chosen` if it does, otherwise the most likely one; null if none does. */
export async function firstFormat(view: DiskFolder, chosen: string | undefined): Promise<RunFormat | null> {
	const preferred = formats.filter(({ name }) => name === chosen);
	for (const format of [...preferred, ...formats]) if (await matches(format, view)) return format;
	return null;
}

/** A folder that cannot be read does not match. */
const matches = (format: RunFormat, view: DiskFolder) => format.recognize(view).catch(() => false);
