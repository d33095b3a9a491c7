import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { ensureFolder, writeFileAtomic } from '../../../files/atomicFile.ts';
import { readJson } from '../../../files/safeFile.ts';
import { decode } from '../../../protocol/decode.ts';
import { labHome } from '../../../runs/runRegistry.ts';

/** Location of a run on the cluster. `STORAGE/ID` is its run folder, and `STORAGE/ID.ray` holds its job files. */
export interface ClusterPlace {
	/** Storage path on this machine. The cluster uses the same path if possible. */
	readonly storage: string;
	/** Whether the recipe specifies the storage. If so, it must exist on the cluster. */
	readonly named: boolean;
	readonly run: string;
	readonly sidecar: string;
	/**
	 * Nonce written on this machine and looked up on the cluster. If the job finds it, both machines see the same folder.
	 */
	readonly nonce: string;
}

const placeFile = 'place.json';

/** place.json: written on this machine before a job is submitted, and completed by the job that finds it. */
const placeSchema = v.looseObject({
	nonce: v.string(),
	/** Submission ID of the job that found the file and therefore shares storage with this machine. */
	seen: v.optional(v.string()),
});

/** @param storage storage from the recipe, or null to use a folder owned by this user, which a local cluster can see */
export function clusterPlace(storage: string | null, id: string): ClusterPlace {
	const folder = storage ?? join(labHome(), 'ray');
	return {
		storage: folder,
		named: storage !== null,
		run: join(folder, id),
		sidecar: join(folder, `${id}.ray`),
		nonce: randomBytes(16).toString('hex'),
	};
}

/**
 * Writes the marker that lets a job detect whether it shares storage with this machine. Does not create missing
 * folders.
 */
export async function offerPlace(place: ClusterPlace): Promise<void> {
	if (place.named && !(await stat(place.storage).catch(() => null))?.isDirectory()) return;
	try {
		await ensureFolder(place.storage);
		await mkdir(place.sidecar, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== 'EEXIST') throw error;
		});
		await writeFileAtomic(join(place.sidecar, placeFile), JSON.stringify({ nonce: place.nonce }));
	} catch {
		// Storage that is not writable from here is mirrored through the job log instead.
	}
}

/** Returns whether a job has found the marker. If so, its storage is this folder. */
export async function isShared(place: ClusterPlace, submission: string): Promise<boolean> {
	const value = await readJson(place.sidecar, placeFile, 1 << 16).catch(() => null);
	const decoded = decode(placeSchema, value);
	return decoded.ok && decoded.value.seen === submission;
}
