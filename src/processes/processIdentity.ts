import { hostname } from 'node:os';
import { currentPlatform } from './currentPlatform.ts';

/** Names one process in the world. */
export interface ProcessIdentity {
	readonly host: string;
	/** Boot and process namespace. */
	readonly boot: string;
	readonly pid: number;
	readonly processStart: string;
}

/** Whether a value that was read from a file names a process. */
export function isIdentity(value: unknown): value is ProcessIdentity {
	if (typeof value !== 'object' || value === null) return false;
	const { host, boot, pid, processStart } = value as Record<string, unknown>;
	return [host, boot, processStart].every((text) => typeof text === 'string') && typeof pid === 'number';
}

let boot: Promise<string> | undefined;

/** The current boot (and process namespace); the same for the life of this process. */
export function bootId(): Promise<string> {
	boot ??= currentPlatform().bootId();
	return boot;
}

/** When a process was started, in its system's words; null when it does not live. */
export function processStart(pid: number): Promise<string | null> {
	return currentPlatform().processStart(pid);
}

let own: Promise<ProcessIdentity> | undefined;

/** This process. */
export function ownIdentity(): Promise<ProcessIdentity> {
	own ??= (async () => ({
		host: hostname(),
		boot: await bootId(),
		pid: process.pid,
		processStart: (await processStart(process.pid)) ?? '',
	}))();
	return own;
}

/** False only when it is certain that no process has this id; costs nothing and sends nothing. */
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
 * Whether the process still lives: `alive` and `dead` are certain; `elsewhere` means that it belongs to another host or
 * boot namespace, so that only its heartbeat can tell.
 */
export async function processState(identity: ProcessIdentity): Promise<'alive' | 'dead' | 'elsewhere'> {
	if (identity.host !== hostname()) return 'elsewhere';
	const here = await bootId();
	if (identity.boot !== here) {
		// Same boot, other process namespace: a container that may still run.
		return identity.boot.split('/')[0] === here.split('/')[0] ? 'elsewhere' : 'dead';
	}
	if (!mayLive(identity.pid)) return 'dead';
	const start = await processStart(identity.pid);
	return start !== null && start === identity.processStart ? 'alive' : 'dead';
}
