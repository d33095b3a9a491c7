import { hostname } from 'node:os';
import { currentPlatform } from './currentPlatform.ts';

/** Globally unique identity of a process. */
export interface ProcessIdentity {
	readonly host: string;
	/** Boot ID and process namespace. */
	readonly boot: string;
	readonly pid: number;
	readonly processStart: string;
}

/** Returns whether a value read from a file is a process identity. */
export function isIdentity(value: unknown): value is ProcessIdentity {
	if (typeof value !== 'object' || value === null) return false;
	const { host, boot, pid, processStart } = value as Record<string, unknown>;
	return [host, boot, processStart].every((text) => typeof text === 'string') && typeof pid === 'number';
}

let boot: Promise<string> | undefined;

/** Returns the current boot ID (with process namespace). Constant for the lifetime of this process. */
export function bootId(): Promise<string> {
	boot ??= currentPlatform().bootId();
	return boot;
}

/** Returns a process's start time in a system-specific format, or null if it is not running. */
export function processStart(pid: number): Promise<string | null> {
	return currentPlatform().processStart(pid);
}

let own: Promise<ProcessIdentity> | undefined;

/** Returns this process's identity. */
export function ownIdentity(): Promise<ProcessIdentity> {
	own ??= (async () => ({
		host: hostname(),
		boot: await bootId(),
		pid: process.pid,
		processStart: (await processStart(process.pid)) ?? '',
	}))();
	return own;
}

/** Returns false only if no process can have this ID. Cheap, and sends no signal. */
export function mayLive(pid: number): boolean {
	if (!Number.isSafeInteger(pid) || pid <= 0) return false;
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'EPERM';
	}
}

/**
 * Returns whether the process is still running. `alive` and `dead` are certain. `elsewhere` means that it belongs to
 * another host or boot namespace, so only its heartbeat shows whether it is running.
 */
export async function processState(identity: ProcessIdentity): Promise<'alive' | 'dead' | 'elsewhere'> {
	if (identity.host !== hostname()) return 'elsewhere';
	const here = await bootId();
	if (identity.boot !== here) {
		// Same boot but a different process namespace: a container that may still be running.
		return identity.boot.split('/')[0] === here.split('/')[0] ? 'elsewhere' : 'dead';
	}
	if (!mayLive(identity.pid)) return 'dead';
	const start = await processStart(identity.pid);
	return start !== null && start === identity.processStart ? 'alive' : 'dead';
}
