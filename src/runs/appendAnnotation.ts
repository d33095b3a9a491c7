import { constants } from 'node:fs';
import { type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder } from '../files/atomicFile.ts';
import { formatLine } from '../files/jsonLines.ts';

/**
 * Appends lines to a file in an annotation folder, creating the folder if needed. The lines are appended in a single
 * write, so several windows and processes can write simultaneously without losing data. Fails with `denied`, `full` or
 * `invalid` (a link).
 */
export async function appendAnnotation(folder: string, file: string, records: readonly object[]): Promise<void> {
	const path = join(folder, file);
	let handle: FileHandle | undefined;
	try {
		await ensureFolder(folder);
		// A link would redirect the write to another location.
		if (!(await lstat(folder)).isDirectory()) throw notRegular(folder);
		const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
		handle = await open(path, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), 0o666);
		const info = await handle.stat();
		if (!info.isFile()) throw notRegular(path);
		// Start on a new line in case a crash truncated the last one. A single write keeps other windows' lines intact.
		const text = records.map(formatLine).join('');
		const bytes = Buffer.from(`${(await endsTorn(handle, info.size)) ? '\n' : ''}${text}`);
		const { bytesWritten } = await handle.write(bytes);
		if (bytesWritten < bytes.length) {
			// The disk is full: the partial write is a truncated line, which readers skip.
			throw new Failure('full', `Cannot write ${path}: no space left on device.`, 'Free some disk space.');
		}
		await handle.datasync();
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw notRegular(path);
		throw Failure.from(error, `Cannot write ${path}`);
	} finally {
		await handle?.close();
	}
}

const notRegular = (path: string) =>
	new Failure('invalid', `${path} is a link or not a regular file, so nothing was written.`, 'Remove it.');

async function endsTorn(handle: FileHandle, size: number): Promise<boolean> {
	if (size === 0) return false;
	const { buffer } = await handle.read(Buffer.alloc(1), 0, 1, size - 1);
	return buffer[0] !== 0x0a;
}
