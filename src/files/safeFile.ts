import { constants, type Dirent } from 'node:fs';
import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { readAt } from './readAt.ts';

/** Maximum size of a file read into memory as a whole, in bytes. */
export const largestSmallFile = 16 << 20;

/**
 * Opens a file in an untrusted folder. Every parent in the relative path must be a folder, not a link, and the file
 * must be a regular file. Fails with `missing`, or with `invalid` for a link, pipe or device.
 * @param relative path built from names in files.ts or from numbers, never from text read from the folder
 */
export async function openRegular(root: string, relative: string): Promise<FileHandle> {
	const parts = relative.split('/');
	let path = root;
	for (const [i, part] of parts.entries()) {
		if (part === '' || part === '.' || part === '..' || part.includes('\\')) {
			throw new Failure('invalid', `${relative} is not a valid path inside a run folder.`);
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
		// In case the file is swapped for a link or a pipe in the meantime, do not follow links or block.
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
 * Opens a file named by the user or a recipe. Follows links, but rejects pipes, devices and folders without blocking.
 * Fails with `missing`, `invalid` or `denied`.
 * @param what file description that starts a sentence, such as 'The dataset train.jsonl'
 * @param flags open flags, read-only by default. Pipes without a reader are also rejected
 */
export async function openNamed(path: string, what = path, flags: number = constants.O_RDONLY): Promise<FileHandle> {
	const handle = await open(path, flags | (constants.O_NONBLOCK ?? 0)).catch((error: unknown) => {
		const { code } = error as { code?: unknown };
		if (code === 'ENOENT') throw new Failure('missing', `${what} does not exist.`, 'Fix the path.', { cause: error });
		// ENXIO: a socket.
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
	return new Failure('invalid', `${what} is not a regular file, so it was not read.`, 'Choose a regular file.');
}

/**
 * Opens one of our own files for appending and for reading its end. Creates the file if it does not exist. Rejects a
 * link, pipe or device in its place, which someone else may have put there. Fails with `invalid`, `denied` or `full`.
 */
export async function openToAppend(path: string): Promise<FileHandle> {
	const { O_RDWR, O_APPEND, O_CREAT, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;
	const handle = await open(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK).catch((error: unknown) => {
		throw Failure.from(error, `Cannot write ${path}`);
	});
	if ((await handle.stat()).isFile()) return handle;
	await handle.close();
	throw new Failure('invalid', `${path} is not a regular file, so nothing was written.`, 'Remove it and try again.');
}

/**
 * Reads a whole file named by the user or a recipe. Fails with the same errors as `openNamed`, or with `unsupported` if
 * the file is too large.
 */
export async function readNamed(
	path: string,
	{ what = path, largest = largestSmallFile }: { readonly what?: string; readonly largest?: number } = {},
): Promise<Buffer> {
	const handle = await openNamed(path, what);
	try {
		const { size } = await handle.stat();
		if (size > largest) {
			throw new FileTooLarge('unsupported', what, size, largest);
		}
		return await readAt(handle, 0, size);
	} finally {
		await handle.close();
	}
}

/** Thrown instead of reading a file that is larger than the limit. */
export class FileTooLarge extends Failure {
	constructor(reason: 'invalid' | 'unsupported', path: string, size: number, largest: number) {
		super(reason, `${path} is ${size} bytes, which exceeds the limit of ${largest}.`);
	}
}

/** Reads a whole file as text, after checking its size. */
export async function readSmallFile(root: string, relative: string, largest = largestSmallFile): Promise<string> {
	const handle = await openRegular(root, relative);
	try {
		const { size } = await handle.stat();
		if (size > largest) {
			throw new FileTooLarge('invalid', join(root, relative), size, largest);
		}
		return (await readAt(handle, 0, size)).toString('utf8');
	} finally {
		await handle.close();
	}
}

/** Like {@link readSmallFile}, but parses the file as JSON. Fails with `corrupt` if it is not valid JSON. */
export async function readJson(root: string, relative: string, largest?: number): Promise<unknown> {
	const text = await readSmallFile(root, relative, largest);
	try {
		return parseBoundedJson(text);
	} catch (error) {
		throw new Failure('corrupt', `${join(root, relative)} is not valid JSON: ${(error as Error).message}.`);
	}
}

/** Lists a folder inside the run. Returns an empty list if the folder is missing or is not a folder. */
export async function listFolder(run: string, ...relative: string[]): Promise<Dirent[]> {
	// A linked folder would lead outside the run. Listing the parent reveals links without following them.
	let path = run;
	for (const part of relative) {
		const entries = await readdir(path, { withFileTypes: true }).catch(() => [] as Dirent[]);
		if (!entries.some((entry) => entry.name === part && entry.isDirectory())) return [];
		path = join(path, part);
	}
	return readdir(path, { withFileTypes: true }).catch(() => []);
}
