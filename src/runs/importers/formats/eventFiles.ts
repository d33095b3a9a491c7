import type { FolderView } from '../folderView.ts';

/** Names of TensorBoard's event files, wherever they lie: "runs/**" and this. */
export const eventFileName = 'events.out.tfevents.{rest}';

/** How much of an event file is searched for tags: the first steps name all of them. */
const searched = 256 << 10;

/** Whether one of the first event files of a pattern names one of these tags. Tags are in it as plain text. */
export async function namesTag(folder: FolderView, pattern: string, tags: RegExp): Promise<boolean> {
	for (const { path } of await folder.some(pattern, 4)) {
		if (tags.test((await folder.head(path, searched)) ?? '')) return true;
	}
	return false;
}
