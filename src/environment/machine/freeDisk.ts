import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Bytes that this user may still write where a path lies or would lie; null: the system does not say. */
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
