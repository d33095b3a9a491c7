import { randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';

/** Makes renames and new names in a folder durable. Some systems cannot sync a folder; there the file's own sync must do. */
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

/** Renames over what is there. On Windows a reader that has the target open makes it fail for a moment. */
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

/** A name beside `path` that no other writer uses; such names start with a dot and end with `.tmp`. */
export function asidePath(path: string): string {
	return join(dirname(path), `.${basename(path)}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`);
}

/**
 * Removes what writes left behind in a folder because their process ended in the middle. For the holder of the folder's lock:
 * nobody else writes there. A missing folder has nothing to remove.
 */
export async function removeAsideFiles(folder: string): Promise<void> {
	const names = await readdir(folder).catch(() => []);
	for (const name of names) {
		if (name.startsWith('.') && name.endsWith('.tmp')) await rm(join(folder, name), { recursive: true, force: true });
	}
}

/**
 * Writes a file so that it is either the old or the new one, whatever happens: aside, fsync, rename, fsync of the folder.
 * Fails with `full` or `denied`, and then the old file is untouched.
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

/** Makes a folder and those above it. Unlike a recursive mkdir it says of a read-only disk that it is read-only. */
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
