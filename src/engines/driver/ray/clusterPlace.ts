import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { ensureFolder, writeFileAtomic } from '../../../files/atomicFile.ts';
import { readJson } from '../../../files/safeFile.ts';
import { decode } from '../../../protocol/decode.ts';
import { labHome } from '../../../runs/runRegistry.ts';

/** Location of a run on the cluster: `STORAGE/ID` is its run folder, `STORAGE/ID.ray` belongs to its jobs. */
export interface ClusterPlace {
	/** A folder as named on this machine; the cluster uses the same path if possible. */
	readonly storage: string;
	/** Whether the recipe names it: the cluster must then have it. */
	readonly named: boolean;
	readonly run: string;
	readonly sidecar: string;
	/** Written here and looked for there: if found, both see the same folder. */
	readonly nonce: string;
}

const placeFile = 'place.json';

/** place.json: written here before a job is submitted, completed by the job that finds it. */
const placeSchema = v.looseObject({
	nonce: v.string(),
	/** Submission id of the job that found the file, and hence shares its storage with this machine. */
	seen: v.optional(v.string()),
});

/** @param storage from the recipe; null: a folder of this user, which a cluster on this machine sees */
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

/** Writes the marker by which a job detects that this machine sees its storage. Does not create a missing folder. */
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

/** Whether a job has found the marker, so that its storage is this folder. */
export async function isShared(place: ClusterPlace, submission: string): Promise<boolean> {
	const value = await readJson(place.sidecar, placeFile, 1 << 16).catch(() => null);
	const decoded = decode(placeSchema, value);
	return decoded.ok && decoded.value.seen === submission;
}
