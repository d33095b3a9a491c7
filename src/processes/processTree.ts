import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { listProcesses, type ProcessEntry } from './processList.ts';

/** Resource usage of a process tree. */
export interface TreeUsage {
	readonly processes: number;
	/** Counts shared pages once where the system reports them. */
	readonly memoryMb: number;
}

/**
 * A process group leader and everything it started: its session, its descendants, any process previously seen among
 * them, and any process with the marker in its environment. Neither a double fork nor a new session escapes.
 */
export class ProcessTree {
	readonly #leader: number;
	readonly #marker: string;
	/** Members seen so far: process ID to start time. */
	readonly #seen = new Map<number, number>();
	#leaderStart = 0;

	/**
	 * @param leader a process group leader, usually also a session leader @param marker unique `NAME=value` in its
	 * environment
	 */
	constructor(leader: number, marker: string) {
		this.#leader = leader;
		this.#marker = marker;
	}

	async usage(): Promise<TreeUsage> {
		const members = this.#membersOf(await listProcesses());
		let memoryMb = members.reduce((sum, { rssMb }) => sum + rssMb, 0);
		// Forked processes share most of their pages. Measuring that is expensive, so do it only if the total is large.
		if (members.length > 2 && memoryMb > 512) memoryMb = await proportional(members);
		return { processes: members.length, memoryMb };
	}

	/**
	 * Returns the leader's own memory and its number of direct children. Cheap: reads only two small files. Linux only.
	 */
	async glance(): Promise<{ readonly memoryMb: number; readonly children: number } | null> {
		try {
			const [statm, children] = await Promise.all([
				readFile(`/proc/${this.#leader}/statm`, 'latin1'),
				readFile(`/proc/${this.#leader}/task/${this.#leader}/children`, 'latin1').catch(() => ''),
			]);
			return {
				memoryMb: (Number(statm.split(' ')[1]) * 4096) / 2 ** 20,
				children: children === '' ? 0 : children.trim().split(' ').length,
			};
		} catch {
			return null;
		}
	}

	/** Kills all members. Resolves once none are left, or after two seconds. */
	async kill(): Promise<void> {
		if (process.platform === 'win32') {
			await new Promise<void>((resolve) => {
				execFile('taskkill', ['/PID', String(this.#leader), '/T', '/F'], { windowsHide: true }, () => resolve());
			});
			return;
		}
		// Children that left the session are found through their parent, so stop the leader and inspect it before killing
		// it. Stop only the leader: its watcher, in the same group, must be able to kill the rest if this process dies now.
		signal(this.#leader, 'SIGSTOP');
		const before = await listProcesses().catch(() => []);
		for (const { pid } of this.#membersOf(before)) signal(pid);
		for (let round = 0; round < 40; round++) {
			// Kill the whole group atomically, so a forking process cannot outrun the loop.
			signal(-this.#leader);
			const all = await listProcesses().catch(() => []);
			const members = this.#membersOf(all).filter(({ ended }) => !ended);
			// List the processes again each time, because a listed process may have forked before it died.
			const left = [...members, ...(await this.#marked(all))];
			if (left.length === 0) return;
			for (const { pid } of left) signal(pid);
			await new Promise((resolve) => setTimeout(resolve, Math.min(50, 2 + round * 2)));
		}
	}

	#membersOf(all: readonly ProcessEntry[]): ProcessEntry[] {
		const children = new Map<number, ProcessEntry[]>();
		for (const entry of all) {
			const siblings = children.get(entry.parent);
			if (siblings === undefined) children.set(entry.parent, [entry]);
			else siblings.push(entry);
		}
		const members = new Map<number, ProcessEntry>();
		const add = (entry: ProcessEntry) => {
			if (members.has(entry.pid)) return;
			members.set(entry.pid, entry);
			for (const child of children.get(entry.pid) ?? []) add(child);
		};
		for (const entry of all) {
			if (entry.pid === this.#leader) this.#leaderStart = entry.start;
			const seen = this.#seen.get(entry.pid);
			const own = entry.pid === this.#leader || entry.session === this.#leader;
			if (own || (seen !== undefined && seen === entry.start)) add(entry);
		}
		for (const { pid, start } of members.values()) this.#seen.set(pid, start);
		return [...members.values()];
	}

	/** Returns processes younger than the leader that carry the marker. */
	async #marked(all: readonly ProcessEntry[]): Promise<ProcessEntry[]> {
		if (process.platform !== 'linux') return [];
		const young = all.filter(({ ended, start, pid }) => !ended && start >= this.#leaderStart && pid !== process.pid);
		const carries = await Promise.all(
			young.map(async ({ pid }) => {
				try {
					return (await readFile(`/proc/${pid}/environ`)).includes(this.#marker);
				} catch {
					return false;
				}
			}),
		);
		return young.filter((_, i) => carries[i]);
	}
}

function signal(pid: number, name: 'SIGKILL' | 'SIGSTOP' = 'SIGKILL'): void {
	try {
		process.kill(pid, name);
	} catch {
		// Already exited.
	}
}

/** Returns memory in MB, with shared pages divided among the processes that share them. */
async function proportional(members: readonly ProcessEntry[]): Promise<number> {
	const shares = await Promise.all(
		members.slice(0, 64).map(async ({ pid, rssMb }) => {
			try {
				const text = await readFile(`/proc/${pid}/smaps_rollup`, 'latin1');
				return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1]) / 1024;
			} catch {
				return process.platform === 'linux' ? 0 : rssMb;
			}
		}),
	);
	return shares.reduce((sum, share) => sum + share, 0);
}
