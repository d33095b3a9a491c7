import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';

/** Largest file that is read whole, in bytes. */
export const largestSmallFile = 16 << 20;

/**
 * Opens a file of a folder that nobody vouches for: every part of the relative path is a folder, not a link, and the end
 * is a regular file. Fails with `missing`, or with `invalid` for a link, a pipe, a device.
 * @param relative names of files.ts or built from numbers, never a text that was read from the folder
 */
export async function openRegular(root: string, relative: string): Promise<FileHandle> {
	const parts = relative.split('/');
	let path = root;
	for (const [i, part] of parts.entries()) {
		if (part === '' || part === '.' || part === '..' || part.includes('\\')) {
			throw new Failure('invalid', `${relative} is not a name inside a run folder.`);
		}
		path = join(path, part);
		const stat = await lstat(path).catch((error: unknown) => {
			throw Failure.from(error, `Cannot read ${path}`);
		});
		const last = i === parts.length - 1;
		if (last ? !stat.isFile() : !stat.isDirectory()) {
			throw new Failure('invalid', `${path} is not a ${last ? 'regular file' : 'folder'}, so it was not read.`);
		}
	}
	let handle: FileHandle;
	try {
		// Should the file be swapped for a link or a pipe in between: do not follow, do not wait.
		handle = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
	} catch (error) {
		throw Failure.from(error, `Cannot read ${path}`);
	}
	const stat = await handle.stat();
	if (stat.isFile()) return handle;
	await handle.close();
	throw new Failure('invalid', `${path} is not a regular file, so it was not read.`);
}

/**
 * Opens a file that a person or a recipe names: a link is followed, but a pipe is not waited for, and a pipe, a device or a
 * folder is refused. Fails with `missing`, `invalid` or `denied`.
 * @param what the file for people, as the beginning of a sentence: 'The dataset train.jsonl'
 * @param flags how it is opened; for reading, unless they say otherwise. A pipe that nobody reads is refused, too
 */
export async function openNamed(path: string, what = path, flags: number = constants.O_RDONLY): Promise<FileHandle> {
	const handle = await open(path, flags | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		const { code } = error as { code?: unknown };
		if (code === 'ENOENT') throw new Failure('missing', `${what} does not exist.`, 'Fix the path.', { cause: error });
		// A socket.
		if (code === 'ENXIO') throw notRegular(what);
		throw Failure.from(error, `${what} cannot be read`);
	});
	try {
		if (!(await handle.stat()).isFile()) throw notRegular(what);
		return handle;
	} catch (error) {
		await handle.close();
		throw Failure.from(error, `${what} cannot be read`);
	}
}

function notRegular(what: string): Failure {
	return new Failure('invalid', `${what} is not a regular file, so it was not read.`, 'Use a file.');
}

/**
 * Opens a file of ours for appending (and reading its end), and makes it if it does not exist. What is under its name may
 * be somebody else's: a link, a pipe or a device is refused. Fails with `invalid`, `denied` or `full`.
 */
export async function openToAppend(path: string): Promise<FileHandle> {
	const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
	const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write ${path}`);
	});
	if ((await handle.stat()).isFile()) return handle;
	await handle.close();
	throw new Failure('invalid', `${path} is not a regular file, so nothing was written.`, 'Remove it, then try again.');
}

/** A whole file that a person or a recipe names. Fails as `openNamed`, and with `unsupported` where it is larger. */
export async function readNamed(
	path: string,
	{ what = path, largest = largestSmallFile }: { readonly what?: string; readonly largest?: number } = {},
): Promise<Buffer> {
	const handle = await openNamed(path, what);
	try {
		const { size } = await handle.stat();
		if (size > largest) {
			throw new Failure('unsupported', `${what} has ${size} bytes, more than the limit of ${largest}.`);
		}
		const buffer = Buffer.alloc(size);
		let filled = 0;
		while (filled < size) {
			const { bytesRead } = await handle.read(buffer, filled, size - filled, filled);
			if (bytesRead === 0) break;
			filled += bytesRead;
		}
		return buffer.subarray(0, filled);
	} finally {
		await handle.close();
	}
}

/** A whole file as text; its size is checked before it is read. */
export async function readSmallFile(root: string, relative: string, largest = largestSmallFile): Promise<string> {
	const handle = await openRegular(root, relative);
	try {
		const { size } = await handle.stat();
		if (size > largest) {
			throw new Failure('invalid', `${join(root, relative)} has ${size} bytes, more than the limit of ${largest}.`);
		}
		const buffer = Buffer.alloc(size);
		let filled = 0;
		while (filled < size) {
			const { bytesRead } = await handle.read(buffer, filled, size - filled, filled);
			if (bytesRead === 0) break;
			filled += bytesRead;
		}
		return buffer.toString('utf8', 0, filled);
	} finally {
		await handle.close();
	}
}

/** As {@link readSmallFile}, parsed; a file that is not JSON fails with `corrupt`. */
export async function readJson(root: string, relative: string, largest?: number): Promise<unknown> {
	const text = await readSmallFile(root, relative, largest);
	try {
		return parseBoundedJson(text);
	} catch (error) {
		throw new Failure('corrupt', `${join(root, relative)} is not JSON: ${(error as Error).message}.`);
	}
}

/** Names in a folder of the run; none when it is missing or is not a folder. */
export async function listFolder(run: string, ...relative: string[]): Promise<Dirent[]> {
	// A folder that is a link would lead out of the run: readdir of the parent tells, without following.
	let path = run;
	for (const part of relative) {
		const entries = await readdir(path, { withFileTypes: true }).catch(() => [] as Dirent[]);
		if (!entries.some((entry) => entry.name === part && entry.isDirectory())) return [];
		path = join(path, part);
	}
	return readdir(path, { withFileTypes: true }).catch(() => []);
}
