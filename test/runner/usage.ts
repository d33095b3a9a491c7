/** Processor time of processes, as Linux accounts for it; zero children elsewhere. */
import { readFileSync } from 'node:fs';
import type { Usage } from './outcome.ts';

/** Linux counts processor time in hundredths of a second here, on every architecture that Node runs on. */
const ticksPerSecond = 100;

export interface ProcessTimes {
	readonly parent: number;
	/** Seconds of the process itself. */
	readonly own: number;
	/** Seconds of the children that it has waited for, and of theirs. */
	readonly children: number;
}

/** Times of a process by its id; undefined where it has ended or there is no /proc. */
export function processTimes(pid: number | 'self'): ProcessTimes | undefined {
	let text: string;
	try {
		text = readFileSync(`/proc/${pid}/stat`, 'latin1');
	} catch {
		return undefined;
	}
	// The name in parentheses may hold anything, parentheses too.
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	const seconds = (index: number) => Number(fields[index]) / ticksPerSecond;
	return { parent: Number(fields[1]), own: seconds(11) + seconds(12), children: seconds(13) + seconds(14) };
}

/** Processor time of this process so far. */
export function ownUsage(): Usage {
	const { user, system } = process.cpuUsage();
	return { own: (user + system) / 1e6, children: processTimes('self')?.children ?? 0 };
}

export function usageSince(before: Usage): Usage {
	const now = ownUsage();
	return { own: now.own - before.own, children: now.children - before.children };
}
