import { randomBytes } from 'node:crypto';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { ensureFolder } from './atomicFile.ts';
import { ownIdentity, type ProcessIdentity, processState } from './processIdentity.ts';
import { RunLock } from './runLock.ts';
import { runtimeFolder } from './runtimeFolder.ts';
import { readJson } from './safeFile.ts';

export interface DeviceQueueOptions {
	/** What is waited for, such as `cpu` or `cuda`; letters, digits, dashes. */
	readonly device: string;
	/** `share`: do not wait, and do not make others wait. */
	readonly whenBusy: 'queue' | 'share';
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
export async function acquireDevice(options: DeviceQueueOptions): Promise<RunLock | null> {
	if (options.whenBusy === 'share') return null;
	if (!/^[\w-]+$/.test(options.device)) throw new Failure('internal', `"${options.device}" cannot name a device.`);
	const folder = join(options.folder ?? (await runtimeFolder()), `device-${options.device}`);
	const tickets = join(folder, 'waiting');
	await ensureFolder(tickets);
	// The lock excludes; the tickets only see to the order, so a clash of names or clocks costs fairness, not safety.
	const ticket = `${String(Date.now()).padStart(15, '0')}-${randomBytes(4).toString('hex')}.json`;
	await writeFile(join(tickets, ticket), JSON.stringify(await ownIdentity()));
	let told = 0;
	try {
		for (;;) {
			if (options.signal?.aborted) throw new Failure('cancelled', `Waiting for ${options.device} was cancelled.`);
			if ((await firstTicket(tickets)) === ticket) {
				try {
					return await RunLock.acquire(join(folder, 'lock'), `The device ${options.device}`);
				} catch (error) {
					if (!(error instanceof Failure) || error.reason !== 'busy') throw error;
				}
			}
			const holder = await RunLock.holder(join(folder, 'lock'));
			if (holder !== null && holder.pid !== told) {
				told = holder.pid;
				options.onWait?.(holder);
			}
			await pause(options.pollMs ?? 500, options.signal);
		}
	} finally {
		await rm(join(tickets, ticket), { force: true }).catch(() => undefined);
	}
}

/** The oldest ticket of a living process; those of dead ones are removed. */
async function firstTicket(folder: string): Promise<string | null> {
	for (const name of (await readdir(folder)).sort()) {
		const identity = (await readJson(folder, name, 64 << 10).catch(() => null)) as ProcessIdentity | null;
		// Unreadable: just being written, so its owner waits; it is younger than ours or soon readable.
		if (identity === null || (await processState(identity)) !== 'dead') return name;
		await rm(join(folder, name), { force: true });
	}
	return null;
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
	return new Promise((resolve) => {
		const timer = setTimeout(done, ms);
		function done() {
			clearTimeout(timer);
			signal?.removeEventListener('abort', done);
			resolve();
		}
		signal?.addEventListener('abort', done, { once: true });
	});
}
