/** CPU time of processes as reported by Linux. On other systems, children are counted as zero. */
import { readFileSync } from 'node:fs';
import type { Usage } from './outcome.ts';

/** Linux reports CPU time in hundredths of a second on every architecture that Node supports. */
const ticksPerSecond = 100;

export interface ProcessTimes {
	readonly parent: number;
	/** CPU seconds of the process itself. */
	readonly own: number;
	/** CPU seconds of the children it has waited for, and of their children. */
	readonly children: number;
}

/** Returns the CPU times of a process, or undefined if it has ended or there is no /proc. */
export function processTimes(pid: number | 'self'): ProcessTimes | undefined {
	let text: string;
	try {
		text = readFileSync(`/proc/${pid}/stat`, 'latin1');
	} catch {
		return undefined;
	}
	// The name in parentheses can contain any characters, including parentheses.
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	const seconds = (index: number) => Number(fields[index]) / ticksPerSecond;
	return { parent: Number(fields[1]), own: seconds(11) + seconds(12), children: seconds(13) + seconds(14) };
}

/** Returns the CPU time of this process so far. */
export function ownUsage(): Usage {
	const { user, system } = process.cpuUsage();
	return { own: (user + system) / 1e6, children: processTimes('self')?.children ?? 0 };
}

export function usageSince(before: Usage): Usage {
	const now = ownUsage();
	return { own: now.own - before.own, children: now.children - before.children };
}
