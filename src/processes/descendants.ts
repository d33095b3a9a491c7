import { setTimeout as sleep } from 'node:timers/promises';
import { listProcesses, type ProcessEntry } from './processList.ts';

/** Between two looks at processes that are ending. */
const lookMs = 50;

/** Every living process that came of one, its own not included; empty on Windows, where the system ends a tree itself. */
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

/** Waits until none of the processes lives. @returns those that do at the limit */
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
