import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { silentMs } from '../files/lockTimes.ts';
import { readJson } from '../files/safeFile.ts';
import { isIdentity, ownIdentity, type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { BusyChoice } from '../protocol/recipe/recipe.ts';
import { pause } from '../rpc/pause.ts';
import { runtimeFolder } from './runtimeFolder.ts';

export interface DeviceQueueOptions {
	/** Device to wait for, such as `cpu` or `cuda`; letters, digits, dashes. */
	readonly device: string;
	/** `share`: neither wait nor make other runs wait. */
	readonly whenBusy: BusyChoice;
	/**
	 * Called when the run has to wait, with the process that is using the device, and again when that process changes.
	 */
	readonly onWait?: (holder: ProcessIdentity) => void;
	readonly signal?: AbortSignal;
	/** Polling interval; default 500. */
	readonly pollMs?: number;
	/** Default: the user's runtime folder. */
	readonly folder?: string;
}

/**
 * Waits for a device in first-come, first-served order; one run uses it at a time. Dead runs do not block the queue.
 * @returns a lock that releases the device, or null if it is shared
 */
export async function acquireDevice(options: DeviceQueueOptions): Promise<FileLock | null> {
	if (options.whenBusy === 'share') return null;
	if (!/^[\w-]+$/.test(options.device))
		throw new Failure('internal', `"${options.device}" is not a valid device name.`);
	const folder = join(options.folder ?? (await runtimeFolder()), `device-${options.device}`);
	const tickets = join(folder, 'waiting');
	await ensureFolder(tickets);
	// The lock provides exclusion. Tickets only determine the order, so a name or clock collision affects fairness, not
	// safety.
	const ticket = `${String(Date.now()).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`;
	const content = JSON.stringify(await ownIdentity());
	await writeFileAtomic(join(tickets, ticket), content);
	let reportedAt = 0;
	try {
		for (;;) {
			if (options.signal?.aborted) throw new Failure('cancelled', `Waiting for ${options.device} was canceled.`);
			if ((await firstTicket(tickets)) === ticket) {
				try {
					return await FileLock.acquire(join(folder, 'lock'), `The device ${options.device}`);
				} catch (error) {
					if (!(error instanceof Failure) || error.reason !== 'busy') throw error;
				}
			}
			const holder = await FileLock.holder(join(folder, 'lock'));
			if (holder !== null && holder.pid !== reportedAt) {
				reportedAt = holder.pid;
				options.onWait?.(holder);
			}
			await pause(options.pollMs ?? 500, options.signal);
			const now = new Date();
			// Deleting the ticket, for example when the folder is cleaned up, does not end the wait.
			await utimes(join(tickets, ticket), now, now).catch(() => writeFileAtomic(join(tickets, ticket), content));
		}
	} finally {
		await rm(join(tickets, ticket), { force: true }).catch(() => undefined);
	}
}

/** Returns the oldest ticket of a live process; removes tickets of dead processes and anything that is not a ticket. */
async function firstTicket(folder: string): Promise<string | null> {
	const names = (await readdir(folder)).filter((name) => /^\d+-[0-9a-f]+\.json$/.test(name));
	for (const name of names.sort()) {
		if (await waits(folder, name)) return name;
		await rm(join(folder, name), { recursive: true, force: true });
	}
	return null;
}

/** Tickets are created with their full content, so an unreadable ticket does not belong to any process. */
async function waits(folder: string, name: string): Promise<boolean> {
	const identity = await readJson(folder, name, 64 << 10).catch(() => null);
	if (!isIdentity(identity)) return false;
	const state = await processState(identity);
	if (state !== 'elsewhere') return state === 'alive';
	// The ticket is from another container, or from this machine under an earlier name. A process that is still waiting
	// renews its ticket.
	const info = await lstat(join(folder, name)).catch(() => null);
	return info !== null && Math.abs(Date.now() - info.mtimeMs) < silentMs;
}
