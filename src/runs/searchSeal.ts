import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { readNamed } from '../files/safeFile.ts';
import type { TreeEventOf } from '../protocol/treeLog.ts';
import { labHome } from './runRegistry.ts';

/*
 * A search log specifies what the search uses when it is continued: servers, API key names, files, programs. The user
 * who continues a search might not be the one who wrote the log, so every log is sealed at the start with a secret that
 * belongs to the user. If a log has no valid seal, the user is asked about everything it specifies.
 */

const keyFile = 'search-logs.key';
const keyBytes = 32;

type Sealed = Pick<TreeEventOf<'start'>, 'id' | 'spec'>;

/**
 * Returns this user's secret, creating it on first use; null if the data folder cannot be used, in which case nothing
 * is sealed.
 */
export async function sealKey(home = labHome()): Promise<Buffer | null> {
	const path = join(home, keyFile);
	try {
		return await readKey(path);
	} catch (error) {
		if (Failure.from(error).reason !== 'missing') return null;
	}
	try {
		await mkdir(home, { recursive: true, mode: 0o700 });
		await writeFile(path, randomBytes(keyBytes).toString('hex'), { flag: 'wx', mode: 0o600 });
		await chmod(path, 0o600);
	} catch {
		// Another program may have created it first.
	}
	return readKey(path).catch(() => null);
}

async function readKey(path: string): Promise<Buffer> {
	const key = Buffer.from((await readNamed(path, { largest: 1024 })).toString('utf8').trim(), 'hex');
	if (key.length !== keyBytes) throw new Failure('invalid', `${path} is not a valid key.`);
	return key;
}

export function sealOf(key: Buffer, { id, spec }: Sealed): string {
	return createHmac('sha256', key)
		.update(JSON.stringify([id, spec ?? null]))
		.digest('hex');
}

/** Returns whether this user started the search with the specification currently in the log. */
export async function isOwnSearch(start: Sealed & Pick<TreeEventOf<'start'>, 'seal'>, home?: string): Promise<boolean> {
	const key = await sealKey(home);
	if (key === null || start.seal === undefined) return false;
	const [stated, right] = [Buffer.from(start.seal, 'hex'), Buffer.from(sealOf(key, start), 'hex')];
	return stated.length === right.length && timingSafeEqual(stated, right);
}
