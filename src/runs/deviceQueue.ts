import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { silentMs } from '../files/lockTimes.ts';
import { readJson } from '../files/safeFile.ts';
import { isIdentity, ownIdentity, type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { BusyChoice } from '../protocol/recipe.ts';
import { pause } from '../rpc/pause.ts';
import { runtimeFolder } from './runtimeFolder.ts';

export interface DeviceQueueOptions {
	/** What is waited for, such as `cpu` or `cuda`; letters, digits, dashes. */
	readonly device: string;
	/** `share`: do not wait, and do not make others wait. */
	readonly whenBusy: BusyChoice;
	/** Told when the run has to wait, with the process that computes now, and again when another one does. */
	readonly onWait?: (holder: ProcessIdentity) => void;
	readonly signal?: AbortSignal;
	/** Between looks; default 500. */
	readonly pollMs?: number;
	/** Default: the user's runtime folder. */
	readonly folder?: string;
}

/**
 * Waits for a device in the order of arrival; one run computes on it at a time. Dead runs hold nothing up.
 * @returns what gives the device back; null when it is shared
 */
export async function acquireDevice(options: DeviceQueueOptions): Promise<FileLock | null> {
	if (options.whenBusy === 'share') return null;
	if (!/^[\w-]+$/.test(options.device))
		throw new Failure('internal', `"${options.device}" is not a valid device name.`);
	const folder = join(options.folder ?? (await runtimeFolder()), `device-${options.device}`);
	const tickets = join(folder, 'waiting');
	await ensureFolder(tickets);
	// The lock excludes; the tickets only see to the order, so a clash of names or clocks costs fairness, not safety.
	const ticket = `${String(Date.now()).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`;
	const content = JSON.stringify(await ownIdentity());
	await writeFileAtomic(join(tickets, ticket), content);
	let told = 0;
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
			if (holder !== null && holder.pid !== told) {
				told = holder.pid;
				options.onWait?.(holder);
			}
			await pause(options.pollMs ?? 500, options.signal);
			const now = new Date();
			// Whoever tidied the folder up has not ended the wait.
			await utimes(join(tickets, ticket), now, now).catch(() => writeFileAtomic(join(tickets, ticket), content));
		}
	} finally {
		await rm(join(tickets, ticket), { force: true }).catch(() => undefined);
	}
}

/** The oldest ticket of a living process; those of dead ones, and what is no ticket, are removed. */
async function firstTicket(folder: string): Promise<string | null> {
	const names = (await readdir(folder)).filter((name) => /^\d+-[0-9a-f]+\.json$/.test(name));
	for (const name of names.sort()) {
		if (await waits(folder, name)) return name;
		await rm(join(folder, name), { recursive: true, force: true });
	}
	return null;
}

/** Tickets appear with their whole content, so one that cannot be read is nobody's. */
async function waits(folder: string, name: string): Promise<boolean> {
	const identity = await readJson(folder, name, 64 << 10).catch(() => null);
	if (!isIdentity(identity)) return false;
	const state = await processState(identity);
	if (state !== 'elsewhere') return state === 'alive';
	// Another container, or this machine under an earlier name: who waits there renews the ticket.
	const info = await lstat(join(folder, name)).catch(() => null);
	return info !== null && Math.abs(Date.now() - info.mtimeMs) < silentMs;
}
