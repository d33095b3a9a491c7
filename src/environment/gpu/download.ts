import { createHash } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { Failure } from '../../base/failure.ts';
import { type PackageIndexAccess, request } from './packageIndex.ts';

export interface Download {
	readonly file: string;
	readonly url: string;
	readonly sha256: string;
	readonly bytes: number;
}

/**
 * Downloads a file to a path, resuming an interrupted download if there is one. The file is renamed to its final name
 * only after its hash has been checked. Fails with `corrupt` if the hash is wrong; the next call starts over.
 * @param index authorizes the download if the file has the same origin
 * @param onBytes called with the number of bytes downloaded so far
 */
export async function download(
	{ file, url, sha256, bytes }: Download,
	path: string,
	index: PackageIndexAccess,
	{ signal, onBytes }: { readonly signal?: AbortSignal; readonly onBytes?: (bytes: number) => void } = {},
): Promise<void> {
	const partial = `${path}.part`;
	const handle = await open(partial, 'a+');
	let whole = false;
	try {
		let have = (await handle.stat()).size;
		if (have > bytes) {
			await handle.truncate(0);
			have = 0;
		}
		const hash = createHash('sha256');
		await hashExisting(handle, have, hash);
		onBytes?.(have);
		if (have < bytes) await fetchRest();
		whole = true;
		if (hash.digest('hex') !== sha256) {
			throw new Failure(
				'corrupt',
				`${file} does not match the hash in the package index.`,
				'Try again. If the error persists, something is modifying your downloads.',
			);
		}

		async function fetchRest(): Promise<void> {
			const headers = have > 0 ? { range: `bytes=${have}-` } : {};
			const response = await request(url, { headers, ...(signal === undefined ? {} : { signal }) }, file, index);
			if (have > 0 && response.status !== 206) {
				// The server ignored the range and is sending the whole file.
				await handle.truncate(0);
				await response.body?.cancel().catch(() => undefined);
				throw new Restart();
			}
			try {
				for await (const chunk of response.body ?? []) {
					if (have + chunk.length > bytes)
						throw new Failure('corrupt', `${file} is larger than stated in the package index.`);
					await handle.write(chunk);
					hash.update(chunk);
					have += chunk.length;
					onBytes?.(have);
				}
			} catch (cause) {
				if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
				if (cause instanceof Failure) throw cause;
				const code = (cause as NodeJS.ErrnoException).code;
				if (code === 'ENOSPC') throw Failure.from(cause, `Cannot write ${partial}`);
				throw interrupted(file, have, bytes, cause);
			}
			if (have < bytes) throw interrupted(file, have, bytes);
		}
	} catch (error) {
		await handle.close();
		if (whole || (error instanceof Failure && error.reason === 'corrupt')) await rm(partial, { force: true });
		if (error instanceof Restart) {
			return download({ file, url, sha256, bytes }, path, index, {
				...(signal === undefined ? {} : { signal }),
				...(onBytes === undefined ? {} : { onBytes }),
			});
		}
		throw error;
	}
	await handle.sync();
	await handle.close();
	await rename(partial, path);
}

/** Thrown to start over without the previously downloaded part. */
class Restart extends Error {}

function interrupted(file: string, have: number, bytes: number, cause?: unknown): Failure {
	const percent = Math.floor((100 * have) / bytes);
	return new Failure(
		'unavailable',
		`The download of ${file} was interrupted at ${percent}%.`,
		'Run setup again to resume the download.',
		{ cause },
	);
}

const chunkBytes = 8 << 20;

async function hashExisting(handle: FileHandle, size: number, hash: ReturnType<typeof createHash>): Promise<void> {
	const buffer = Buffer.alloc(Math.min(chunkBytes, Math.max(1, size)));
	for (let at = 0; at < size; ) {
		const { bytesRead } = await handle.read(buffer, 0, Math.min(buffer.length, size - at), at);
		if (bytesRead === 0) break;
		hash.update(buffer.subarray(0, bytesRead));
		at += bytesRead;
	}
}
