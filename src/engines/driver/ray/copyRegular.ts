import { type FileHandle, open, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../../../base/failure.ts';
import { asidePath, ensureFolder, renameOver, syncFolder } from '../../../files/atomicFile.ts';
import { openRegular } from '../../../files/safeFile.ts';

/**
 * Copies a regular file from an untrusted folder, either completely or not at all.
 * @param bytes expected size, if known; throws `corrupt` if the size differs
 */
export async function copyRegular(
	from: string,
	to: string,
	relative: string,
	bytes: number | null = null,
): Promise<void> {
	const source = await openRegular(from, relative);
	const path = join(to, relative);
	const aside = asidePath(path);
	try {
		await ensureFolder(dirname(path));
		const target = await open(aside, 'wx');
		try {
			await pour(source, target);
			await target.sync();
			const { size } = await target.stat();
			if (bytes !== null && size !== bytes) {
				throw new Failure('corrupt', `${join(from, relative)} is ${size} bytes instead of ${bytes}.`);
			}
		} finally {
			await target.close();
		}
		await renameOver(aside, path);
		await syncFolder(dirname(path));
	} catch (error) {
		await rm(aside, { force: true }).catch(() => undefined);
		throw Failure.from(error, `Cannot copy ${join(from, relative)}`);
	} finally {
		await source.close();
	}
}

/** Returns a file's size, or null if the file does not exist. */
export async function sizeOf(path: string): Promise<number | null> {
	const info = await stat(path).catch(() => null);
	return info?.isFile() ? info.size : null;
}

const portion = 1 << 20;

async function pour(source: FileHandle, target: FileHandle): Promise<void> {
	const buffer = Buffer.allocUnsafe(portion);
	for (let position = 0; ; ) {
		const { bytesRead } = await source.read(buffer, 0, portion, position);
		if (bytesRead === 0) return;
		await target.appendFile(buffer.subarray(0, bytesRead));
		position += bytesRead;
	}
}
