import { randomBytes } from 'node:crypto';
import { mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import * as v from 'valibot';
import { ensureFolder, writeFileAtomic } from '../../../files/atomicFile.ts';
import { readJson } from '../../../files/safeFile.ts';
import { decode } from '../../../protocol/decode.ts';
import { labHome } from '../../../runs/runRegistry.ts';

/** Where a run lies on the cluster: `STORAGE/ID` is its run folder, `STORAGE/ID.ray` what belongs to its jobs. */
export interface ClusterPlace {
	/** A folder, as this machine names it; the cluster takes the same name if it can. */
	readonly storage: string;
	/** The recipe names it: the cluster must have it. */
	readonly named: boolean;
	readonly run: string;
	readonly sidecar: string;
	/** Written here, found there: then both see one folder. */
	readonly nonce: string;
}

const placeFile = 'place.json';

/** place.json: written here before a job is submitted, completed by the job that finds it. */
const placeSchema = v.looseObject({
	nonce: v.string(),
	/** Submission of the job that found the file, so that its storage is the one that is seen here. */
	seen: v.optional(v.string()),
});

/** @param storage of the recipe; null: a folder of this user, which a cluster on this machine sees */
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

/** Leaves the sign by which a job finds out that its storage is seen from here. A folder that is not here is not made. */
export async function offerPlace(place: ClusterPlace): Promise<void> {
	if (place.named && !(await stat(place.storage).catch(() => null))?.isDirectory()) return;
	try {
		await ensureFolder(place.storage);
		await mkdir(place.sidecar, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
			if (error.code !== 'EEXIST') throw error;
		});
		await writeFileAtomic(join(place.sidecar, placeFile), JSON.stringify({ nonce: place.nonce }));
	} catch {
		// A storage that cannot be written from here is followed through the job's log.
	}
}

/** Whether a job has found the sign: its storage is this folder. */
export async function isShared(place: ClusterPlace, submission: string): Promise<boolean> {
	const value = await readJson(place.sidecar, placeFile, 1 << 16).catch(() => null);
	const decoded = decode(placeSchema, value);
	return decoded.ok && decoded.value.seen === submission;
}
