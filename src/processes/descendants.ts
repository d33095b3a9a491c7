import { setTimeout as sleep } from 'node:timers/promises';
import { listProcesses, type ProcessEntry } from './processList.ts';

/** Polling interval while waiting for processes to exit. */
const lookMs = 50;

/**
 * Returns all living descendants of a process, excluding the process itself. Empty on Windows, where the OS kills whole
 * process trees.
 */
export async function descendantsOf(pid: number): Promise<ProcessEntry[]> {
	const all = await listProcesses();
	const found: ProcessEntry[] = [];
	for (let parents = [pid]; parents.length > 0; ) {
		const children = all.filter(({ parent, ended }) => !ended && parents.includes(parent));
		found.push(...children);
		parents = children.map((child) => child.pid);
	}
	return found;
}

/** Waits until all processes have exited. @returns the processes still running after the time limit */
export async function survivors(processes: readonly ProcessEntry[], limitMs: number): Promise<ProcessEntry[]> {
	const deadline = performance.now() + limitMs;
	for (;;) {
		const now = await listProcesses();
		const left = processes.filter(({ pid, start }) =>
			now.some((entry) => entry.pid === pid && entry.start === start && !entry.ended),
		);
		if (left.length === 0 || performance.now() > deadline) return left;
		await sleep(lookMs);
	}
}
