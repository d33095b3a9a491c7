import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { Failure } from '../base/failure.ts';

/** A case appended to a file. */
export interface AddedCase {
	/** 1-based line number in the file. */
	readonly line: number;
	/** Removes the case. Fails with `mismatch` if the file has since been appended to. */
	undo(): Promise<void>;
}

/** Maximum size of a case file. `readCases` has the same limit. */
const largestCases = 16 << 20;

/**
 * Appends a labeled case to a case file (NAME.cases.jsonl), or a labeled episode to NAME.episodes.jsonl, creating the file if
 * necessary. Fails with `denied` or `full`,
 * or with `invalid` if the file is not a regular file or would become too large.
 */
export async function appendCase(file: string, made: object): Promise<AddedCase> {
	const { before, bytes } = await withFile(file, async (handle) => {
		const before = await handle.readFile();
		const torn = before.length > 0 && before.at(-1) !== 0x0a;
		const bytes = Buffer.from(`${torn ? '\n' : ''}${JSON.stringify(made)}\n`);
		if (before.length + bytes.length > largestCases) {
			throw new Failure(
				'invalid',
				`The file ${file} would exceed the limit of ${largestCases} bytes.`,
				'Choose a different file.',
			);
		}
		const { bytesWritten } = await handle.write(bytes);
		if (bytesWritten < bytes.length) {
			await handle.truncate(before.length);
			throw new Failure('full', `Cannot write ${file}: no space left on device.`, 'Free up disk space.');
		}
		await handle.datasync();
		return { before, bytes };
	});
	return {
		line: before.toString('utf8').split('\n').length + (before.length > 0 && before.at(-1) !== 0x0a ? 1 : 0),
		undo: () =>
			withFile(file, async (again) => {
				const now = await again.readFile();
				const start = before.length;
				if (now.length !== start + bytes.length || !now.subarray(start).equals(bytes)) {
					throw new Failure(
						'mismatch',
						`${file} has been modified since the case was added.`,
						'Remove the line manually.',
					);
				}
				await again.truncate(start);
			}),
	};
}

async function withFile<T>(file: string, work: (handle: FileHandle) => Promise<T>): Promise<T> {
	let handle: FileHandle | undefined;
	try {
		const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT;
		handle = await open(file, flags | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0), 0o666);
		const info = await handle.stat();
		if (!info.isFile()) throw noFile(file);
		if (info.size > largestCases) {
			throw new Failure(
				'invalid',
				`The file ${file} is ${info.size} bytes, which is too large to append to.`,
				'Split the file.',
			);
		}
		return await work(handle);
	} catch (error) {
		if ((error as NodeJS.ErrnoException).code === 'ELOOP') throw noFile(file);
		throw Failure.from(error, `Cannot write ${file}`);
	} finally {
		await handle?.close();
	}
}

const noFile = (file: string) =>
	new Failure('invalid', `${file} is a link or not a regular file. Nothing was written.`, 'Choose a different file.');
