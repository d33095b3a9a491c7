import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Returns the free disk space, in bytes, available to this user at an existing or future path, or null if unknown. */
export async function freeDisk(path: string): Promise<number | null> {
	for (let folder = path; ; folder = dirname(folder)) {
		try {
			const { bavail, bsize } = await statfs(folder);
			return bavail * bsize;
		} catch (error) {
			if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) return null;
		}
	}
}
