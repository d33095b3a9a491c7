import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { Failure } from '../base/failure.ts';
import { writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { readJson } from '../files/safeFile.ts';
import { currentPlatform } from '../processes/currentPlatform.ts';
import { isIdentity, ownIdentity, type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { ControlClient } from '../rpc/controlClient.ts';
import type { ControlLocation } from '../rpc/controlLocation.ts';
import { ControlServer, type ControlServerOptions } from '../rpc/controlServer.ts';
import { checkPrivateFolder, controlLocation, controlLocations } from './runtimeFolder.ts';

/** Id for the control endpoint of a served checkpoint folder. */
export const servedId = 'serve';

/**
 * Opens the engine's endpoint for a run folder (id: the run's id) or a served checkpoint folder (id: {@link servedId}).
 */
export async function openControl(
	folder: string,
	id: string,
	options: Omit<ControlServerOptions, 'location' | 'run'>,
): Promise<ControlServer> {
	const location = await controlLocation(folder, id);
	const server = await ControlServer.listen({ ...options, run: id, location });
	await writeFileAtomic(identityPath(location), JSON.stringify(await ownIdentity()), { mode: 0o600 });
	return server;
}

/** Prevents a second engine from serving the same checkpoint folder and taking over the first one's endpoint. */
export async function lockServed(folder: string): Promise<FileLock> {
	const { tokenPath } = await controlLocation(folder, servedId);
	return FileLock.acquire(tokenPath.replace(/\.token$/, '.lock'), `The checkpoint ${folder}`);
}

const identityPath = ({ tokenPath }: ControlLocation) => tokenPath.replace(/\.token$/, '.process');

/**
 * Returns the process that serves a run, as recorded in the user's own runtime folder. The pid in run.json is only used
 * to check whether the engine is running, whereas this process can be signaled. Returns null if no process is known or
 * the process is not running.
 */
export async function engineProcess(folder: string, record: Pick<RunRecord, 'id'>): Promise<ProcessIdentity | null> {
	for (const location of await controlLocations(folder, record.id)) {
		const path = identityPath(location);
		if (!(await lstat(path).catch(() => null))) continue;
		await checkPrivateFolder(dirname(path));
		const identity = await readJson(dirname(path), basename(path), 4096);
		if (isIdentity(identity) && (await processState(identity)) === 'alive') return identity;
	}
	return null;
}

/**
 * Connects to a run's engine. Endpoint and token are looked up by the run's id and location in the user's own runtime
 * folder, never read from the run. Fails with `unavailable` if no engine is running.
 */
export async function connectRun(folder: string, record: Pick<RunRecord, 'id'>, name: string): Promise<ControlClient> {
	const client = await connectAt(folder, record.id, name);
	if (client.engine.run === record.id) return client;
	client.dispose();
	throw new Failure('mismatch', `A different run responds at the endpoint for ${folder}.`);
}

/** Connects to `--serve <checkpoint folder>`. */
export function connectServed(checkpoint: string, name: string): Promise<ControlClient> {
	return connectAt(checkpoint, servedId, name);
}

async function connectAt(folder: string, id: string, name: string): Promise<ControlClient> {
	for (const location of await controlLocations(folder, id)) {
		const token = await readToken(location);
		if (token !== null) return await ControlClient.connect(location.socketPath, token, name);
	}
	throw new Failure('unavailable', `No engine is responding for ${folder}.`, 'Resume the run.');
}

/** Reads the token after checking the owners of its folder, the socket and the file; returns null if there is none. */
async function readToken({ socketPath, tokenPath }: ControlLocation): Promise<string | null> {
	const folder = dirname(tokenPath);
	if (!(await lstat(tokenPath).catch(() => null))) return null;
	await checkPrivateFolder(folder);
	if (currentPlatform().hasFileOwners) {
		const socket = await lstat(socketPath).catch(() => null);
		if (socket === null) return null;
		if (!socket.isSocket() || socket.uid !== process.getuid?.()) {
			throw new Failure(
				'denied',
				`${socketPath} is not a socket that belongs to this user.`,
				'Remove it, then try again.',
			);
		}
	}
	let file: Awaited<ReturnType<typeof open>>;
	try {
		file = await open(tokenPath, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
	} catch (error) {
		throw Failure.from(error, `Cannot read ${tokenPath}`);
	}
	try {
		const info = await file.stat();
		if (!info.isFile() || info.size > 1024) throw new Failure('denied', `${tokenPath} is not a token file.`);
		return await file.readFile('utf8');
	} finally {
		await file.close();
	}
}
