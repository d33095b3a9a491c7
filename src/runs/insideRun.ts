import { lstat, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runFiles } from './runFiles.ts';

/**
 * Whether a file is inside a run folder, such as a run's copy of a reward or environment. It may be someone else's code,
 * so it must not run just because it is opened. Never fails.
 */
export async function isInRun(file: string): Promise<boolean> {
	let folder = dirname(await realpath(file).catch(() => file));
	for (let parent = dirname(folder); ; parent = dirname(folder)) {
		const found = await Promise.all([runFiles.record, runFiles.recipe].map((name) => isFile(join(folder, name))));
		if (found.every(Boolean)) return true;
		if (parent === folder) return false;
		folder = parent;
	}
}

async function isFile(path: string): Promise<boolean> {
	return (await lstat(path).catch(() => null))?.isFile() ?? false;
}
