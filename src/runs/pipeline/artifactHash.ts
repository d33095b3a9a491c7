import { createHash } from 'node:crypto';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { openNamed, openRegular } from '../../files/safeFile.ts';
import { manifestName } from '../checkpointFiles.ts';

export interface ArtifactHash {
	readonly sha256: string;
	readonly bytes: number;
}

/** Maximum number of files in a folder to hash; larger folders are rejected as artifacts. */
const maxFiles = 20_000;
const deepest = 16;

/** Hashes a regular file inside a pipeline without following any link. Fails with `missing`, `invalid`. */
export async function hashInside(root: string, relative: string): Promise<ArtifactHash> {
	const info = await lstat(join(root, relative)).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${join(root, relative)}`);
	});
	if (!info.isDirectory()) return hashHandle(await openRegular(root, relative));
	return hashFolder(root, relative, (name) => openRegular(root, name));
}

/** Hashes a file or folder named in a recipe by the user; links are followed only to files. Fails with `missing`. */
export async function hashPath(path: string): Promise<ArtifactHash> {
	const info = await stat(path).catch((error: unknown) => {
		throw Failure.from(error, `Cannot read ${path}`);
	});
	if (info.isDirectory()) return hashFolder(path, '', (name) => openNamed(join(path, name)));
	if (!info.isFile()) throw new Failure('invalid', `${path} is neither a file nor a folder.`);
	return hashHandle(await openNamed(path));
}

type Handle = Awaited<ReturnType<typeof openNamed>>;

async function hashHandle(handle: Handle): Promise<ArtifactHash> {
	const hash = createHash('sha256');
	let bytes = 0;
	try {
		const buffer = Buffer.allocUnsafe(1 << 20);
		for (;;) {
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
			if (bytesRead === 0) break;
			bytes += bytesRead;
			hash.update(buffer.subarray(0, bytesRead));
		}
	} finally {
		await handle.close();
	}
	return { sha256: hash.digest('hex'), bytes };
}

async function hashFolder(
	root: string,
	relative: string,
	openFile: (name: string) => Promise<Handle>,
): Promise<ArtifactHash> {
	const names: string[] = [];
	const list = async (below: string, depth: number) => {
		const entries = await readdir(join(root, below), { withFileTypes: true });
		for (const entry of entries) {
			const name = below === '' ? entry.name : `${below}/${entry.name}`;
			if (entry.isDirectory() && depth < deepest) await list(name, depth + 1);
			// The file list of a checkpoint contains its write time, which must not affect the hash.
			else if ((entry.isFile() || entry.isSymbolicLink()) && entry.name !== manifestName) names.push(name);
			if (names.length > maxFiles) {
				throw new Failure('invalid', `${join(root, relative)} has more than ${maxFiles} files.`);
			}
		}
	};
	await list(relative, 0);
	const whole = createHash('sha256');
	let bytes = 0;
	for (const name of names.sort()) {
		const file = await hashHandle(await openFile(name));
		whole.update(`${name.slice(relative === '' ? 0 : relative.length + 1)}\0${file.sha256}\n`);
		bytes += file.bytes;
	}
	return { sha256: whole.digest('hex'), bytes };
}
