import { randomBytes } from 'node:crypto';
import { lstat, readdir, rm, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder, writeFileAtomic } from '../files/atomicFile.ts';
import { FileLock } from '../files/fileLock.ts';
import { silentMs } from '../files/lockTimes.ts';
import { readJson } from '../files/safeFile.ts';
import { isIdentity, ownIdentity, type ProcessIdentity, processState } from '../processes/processIdentity.ts';
import type { BusyChoice } from '../protocol/recipeKeys/recipe.ts';
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
	/** The group this run belongs to. Default: none; the run uses the device alone. */
	readonly group?: DeviceGroup;
}

/** Runs that may use a device at the same time, such as the stages of a pipeline. Other runs wait for all of them. */
export interface DeviceGroup {
	/** Letters, digits, dashes; the same for all members. */
	readonly id: string;
	/** Maximum number of members that use the device at the same time. */
	readonly slots: number;
}

/** How long to wait for another run that is inspecting the locks of a device, in milliseconds. */
const gateMs = 2000;

/**
 * Waits for a device in first-come, first-served order; only one run, or the members of one group, can use it at a
 * time. Dead runs do not block the queue.
 * @returns a lock that releases the device, or null if it is shared
 */
export async function acquireDevice(options: DeviceQueueOptions): Promise<FileLock | null> {
	if (options.whenBusy === 'share') return null;
	if (!/^[\w-]+$/.test(options.device))
		throw new Failure('internal', `"${options.device}" is not a valid device name.`);
	const { group = null } = options;
	if (group !== null && !/^[\w-]+$/.test(group.id))
		throw new Failure('internal', `"${group.id}" is not a valid group of runs.`);
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
				const lock = await takeDevice(folder, group, `The device ${options.device}`);
				if (lock !== null) return lock;
			}
			const holder = await holderOf(folder);
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

/**
 * Acquires the device's lock, or a slot of the run's group, if the device is free for the run. Otherwise, returns null.
 * Only one process at a time inspects the locks of a device, so a group and another run cannot both find it free.
 */
async function takeDevice(folder: string, group: DeviceGroup | null, what: string): Promise<FileLock | null> {
	const gate = await freeLock(join(folder, 'gate'), what, gateMs);
	if (gate === null) return null;
	try {
		const groups = await usedGroups(folder);
		if (groups.some(({ id }) => id !== group?.id)) return null;
		if (group === null) return await freeLock(join(folder, 'lock'), what);
		if ((await FileLock.holder(join(folder, 'lock'))) !== null) return null;
		for (let slot = 1; slot <= group.slots; slot++) {
			const lock = await freeLock(join(folder, `${groupPrefix}${group.id}`, String(slot)), what);
			if (lock !== null) return lock;
		}
		return null;
	} finally {
		await gate.release();
	}
}

/** Acquires a lock; returns null if it is held. */
async function freeLock(path: string, what: string, patienceMs = 0): Promise<FileLock | null> {
	try {
		return await FileLock.acquire(path, what, patienceMs);
	} catch (error) {
		if (error instanceof Failure && error.reason === 'busy') return null;
		throw error;
	}
}

/** A group's folder contains one lock for each slot. */
const groupPrefix = 'group-';

/**
 * Returns the groups that use the device, each with one of its members; removes the folders of groups that no longer
 * use it.
 */
async function usedGroups(folder: string): Promise<{ readonly id: string; readonly member: ProcessIdentity }[]> {
	const used: { id: string; member: ProcessIdentity }[] = [];
	for (const name of await readdir(folder)) {
		if (!name.startsWith(groupPrefix)) continue;
		const path = join(folder, name);
		const member = await memberOf(path);
		if (member !== null) used.push({ id: name.slice(groupPrefix.length), member });
		else await rm(path, { recursive: true, force: true });
	}
	return used;
}

async function memberOf(path: string): Promise<ProcessIdentity | null> {
	for (const slot of await readdir(path).catch(() => [])) {
		const member = await FileLock.holder(join(path, slot));
		if (member !== null) return member;
	}
	return null;
}

/** Returns the process that uses the device, or one of them; null if there is none. */
async function holderOf(folder: string): Promise<ProcessIdentity | null> {
	const alone = await FileLock.holder(join(folder, 'lock'));
	if (alone !== null) return alone;
	for (const name of await readdir(folder).catch(() => [])) {
		const member = name.startsWith(groupPrefix) ? await memberOf(join(folder, name)) : null;
		if (member !== null) return member;
	}
	return null;
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
