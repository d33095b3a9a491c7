import type { FolderView } from '../folderView.ts';

/** Name pattern of TensorBoard event files; prefix with "runs/**" to match any location. */
export const eventFileName = 'events.out.tfevents.{rest}';

/** Number of bytes in an event file to search for tags: the first steps contain all of them. */
const searched = 256 << 10;

/**
 * Returns whether one of the first event files that match a pattern contains one of these tags, which are stored as
 * plain text.
 */
export async function namesTag(folder: FolderView, pattern: string, tags: RegExp): Promise<boolean> {
	for (const { path } of await folder.some(pattern, 4)) {
		if (tags.test((await folder.head(path, searched)) ?? '')) return true;
	}
	return false;
}
