import { dirname } from 'node:path';
import { isInside } from '../files/isInside.ts';
import { formatOf } from '../runs/openRun.ts';

/** Maximum number of folders searched upward from a file. Trainers write such files up to four folders below a run. */
const maxLevels = 5;

/** Format of folders that contain only event files. */
const eventsOnly = 'tensorboard';

/**
 * Returns the folder of the run that a file belongs to: the nearest folder from a known trainer, otherwise the
 * outermost folder with event files. Returns null if there is none.
 * @param root topmost folder to search; null to search only the file's own folder
 */
export async function runOfFile(file: string, root: string | null): Promise<string | null> {
	let events: string | null = null;
	let folder = dirname(file);
	for (let level = 0; level < maxLevels; level++) {
		const format = await formatOf(folder).then(
			(found) => found?.name ?? '',
			() => null,
		);
		if (format !== null && format !== eventsOnly) return folder;
		// Some trainers create a separate folder for each event writer in a run.
		if (format === eventsOnly) events = folder;
		const isBelow = root !== null && folder !== root && isInside(folder, root);
		if (!isBelow) break;
		folder = dirname(folder);
	}
	return events;
}
