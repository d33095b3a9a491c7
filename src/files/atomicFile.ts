import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';

/**
 * Makes renames and new entries in a folder durable. Some systems cannot sync folders. On those, durability depends on
 * syncing the file itself.
 */
export async function syncFolder(path: string): Promise<void> {
	let handle: FileHandle;
	try {
		handle = await open(path, 'r');
	} catch (error) {
		if (process.platform === 'win32') return;
		throw error;
	}
	try {
		await handle.sync();
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code;
		if (code !== 'EINVAL' && code !== 'EPERM' && code !== 'EISDIR' && code !== 'ENOTSUP' && code !== 'EBADF')
			throw error;
	} finally {
		await handle.close();
	}
}

/**
 * Renames a file, replacing the target. Retries on Windows, where a reader with the target open makes the rename fail
 * briefly.
 */
export async function renameOver(from: string, to: string): Promise<void> {
	for (let attempt = 0; ; attempt++) {
		try {
			return await rename(from, to);
		} catch (error) {
			const code = (error as NodeJS.ErrnoException).code;
			const passing = code === 'EPERM' || code === 'EACCES' || code === 'EBUSY';
			if (process.platform !== 'win32' || !passing || attempt >= 20) throw error;
			await new Promise((resolve) => setTimeout(resolve, 10 + attempt * 5));
		}
	}
}

/**
 * Returns a temporary file name next to `path` that no other writer uses. The name starts with a dot and ends in
 * `.tmp`.
 */
export function asidePath(path: string): string {
	return join(dirname(path), `.${basename(path)}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`);
}

/**
 * Removes temporary files left in a folder by interrupted writes. The caller must hold the folder's lock, so no other
 * process is writing there. Does nothing if the folder is missing.
 */
export async function removeAsideFiles(folder: string): Promise<void> {
	const names = await readdir(folder).catch(() => []);
	for (const name of names) {
		if (name.startsWith('.') && name.endsWith('.tmp')) await rm(join(folder, name), { recursive: true, force: true });
	}
}

/**
 * Writes a file atomically, leaving either the old or the new content: write to a temporary file, fsync, rename, fsync
 * the folder. If it fails with `full` or `denied`, the old file is unchanged.
 */
export async function writeFileAtomic(
	path: string,
	data: string | Uint8Array | Iterable<string>,
	options: { readonly mode?: number } = {},
): Promise<void> {
	const aside = asidePath(path);
	try {
		const handle = await open(aside, 'wx', options.mode ?? 0o666);
		try {
			if (typeof data === 'string' || data instanceof Uint8Array) await handle.writeFile(data);
			else await writeChunks(handle, data);
			await handle.sync();
		} finally {
			await handle.close();
		}
		await renameOver(aside, path);
		await syncFolder(dirname(path));
	} catch (error) {
		await rm(aside, { force: true }).catch(() => undefined);
		throw Failure.from(error, `Cannot write ${path}`);
	}
}

async function writeChunks(handle: FileHandle, parts: Iterable<string>): Promise<void> {
	let chunk = '';
	for (const part of parts) {
		chunk += part;
		if (chunk.length < 1 << 20) continue;
		await handle.appendFile(chunk);
		chunk = '';
	}
	if (chunk !== '') await handle.appendFile(chunk);
}

/** Creates a folder and its parents. Unlike recursive mkdir, reports read-only file systems as such. */
export async function ensureFolder(path: string): Promise<void> {
	try {
		await mkdir(path);
	} catch (error) {
		const code = (error as NodeJS.ErrnoException).code;
		if (code === 'EEXIST') return;
		if (code !== 'ENOENT' || dirname(path) === path) throw error;
		await ensureFolder(dirname(path));
		await ensureFolder(path);
	}
}
