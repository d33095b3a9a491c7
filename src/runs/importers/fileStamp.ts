import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { walOf } from '../../files/sqliteFile.ts';
import type { FoundFile } from './folderView.ts';

const isDatabase = (path: string) => /[.](db|sqlite|sqlite3)$/.test(path);

/**
 * Returns a regular file with a stamp that changes with its contents, or null if the path is not one. A database's
 * newest contents are in its write-ahead log.
 */
export async function stampOf(folder: string, path: string): Promise<FoundFile | null> {
	const info = await lstat(join(folder, path), { bigint: true }).catch(() => null);
	if (info === null || !info.isFile()) return null;
	const found: FoundFile = {
		path,
		size: Number(info.size),
		modifiedMs: Number(info.mtimeMs),
		stamp: `${info.dev}-${info.ino}-${info.size}-${info.mtimeNs}`,
	};
	if (!isDatabase(path)) return found;
	const log = await lstat(join(folder, walOf(path)), { bigint: true }).catch(() => null);
	if (log === null || !log.isFile()) return found;
	return {
		...found,
		modifiedMs: Math.max(found.modifiedMs, Number(log.mtimeMs)),
		stamp: `${found.stamp}-${log.ino}-${log.size}-${log.mtimeNs}`,
	};
}
