import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { currentPlatform } from '../processes/currentPlatform.ts';
import type { ControlLocation } from '../rpc/controlLocation.ts';

/** Unix domain socket paths are limited to about 104 bytes. */
const longestSocketPath = 100;

/** Fails with `denied` unless the folder belongs to the user, is not a link, and is inaccessible to others. */
export async function checkPrivateFolder(path: string): Promise<void> {
	const info = await lstat(path).catch((error: unknown) => {
		throw Failure.from(error, `Cannot use ${path}`);
	});
	const refuse = (why: string) =>
		new Failure('denied', `${path} ${why}, so it is not used for control sockets.`, 'Remove it, then try again.');
	if (!info.isDirectory()) throw refuse('is not a folder');
	if (!currentPlatform().hasFileOwners) return;
	if (info.uid !== process.getuid?.()) throw refuse('belongs to another user');
	if ((info.mode & 0o077) !== 0) throw refuse('is accessible to other users');
}

/** Returns the per-user folder for sockets, tokens and device queues, created if needed (mode 0700) and checked. */
export async function runtimeFolder(environment = process.env): Promise<string> {
	let failure: unknown;
	for (const path of currentPlatform().runtimeFolders(environment)) {
		if (Buffer.byteLength(currentPlatform().socketPath(path, '0'.repeat(nameLength))) > longestSocketPath) continue;
		try {
			const made = await mkdir(path, { recursive: true, mode: 0o700 });
			// The umask can only remove permissions, but a default ACL can add them.
			if (made !== undefined && currentPlatform().hasFileOwners) await chmod(path, 0o700);
			await checkPrivateFolder(path);
			return path;
		} catch (error) {
			failure = error;
		}
	}
	throw Failure.from(failure, 'No folder is available for control sockets');
}

const nameLength = 24;

/** Returns a name based on run and location, so that a copied run folder does not lead to the original's engine. */
async function locationName(folder: string, id: string): Promise<string> {
	const hash = createHash('sha256').update(`${id}\0${await realpath(folder)}`);
	return hash.digest('hex').slice(0, nameLength);
}

const at = (folder: string, name: string): ControlLocation => ({
	socketPath: currentPlatform().socketPath(folder, name),
	tokenPath: join(folder, `${name}.token`),
});

/**
 * Returns the endpoint of a run's engine.
 * @param id the run's id, or 'serve' for a served checkpoint folder
 */
export async function controlLocation(folder: string, id: string): Promise<ControlLocation> {
	return at(await runtimeFolder(), await locationName(folder, id));
}

/** Returns all locations where a client looks for an engine that might have been started in a different environment. */
export async function controlLocations(folder: string, id: string): Promise<ControlLocation[]> {
	const name = await locationName(folder, id);
	return currentPlatform()
		.runtimeFolders(process.env)
		.map((runtime) => at(runtime, name));
}
