import { readdirSync, readFileSync } from 'node:fs';

/*
 * Files in /proc are small and are read synchronously: the supervisor of a sandbox reads about ten of them every 20 ms,
 * and reading them asynchronously would take this process several times as long as the reads themselves.
 */

/** Returns the contents of a file in /proc, or an empty string if its process does not exist. */
function readProc(path: string): string {
	try {
		return readFileSync(`/proc/${path}`, 'utf8');
	} catch {
		return '';
	}
}

export interface TreeUse {
	/** All processes in the tree, root first. */
	readonly processes: readonly number[];
	/** Total number of processes and threads. */
	readonly tasks: number;
	/** Resident memory including page tables and socket buffers. Shared pages count once per process. */
	readonly memoryMb: number;
	/** CPU time of the tree, including descendants that have exited and been reaped. */
	readonly cpuSeconds: number;
}

/** Maximum tree size. A larger tree exceeds any limit, so it is not inspected further. */
const maxProcesses = 4096;
/** Clock ticks per second. The same on every Linux architecture that Node supports. */
const ticksPerSecond = 100;
const pageMb = 4096 / 1e6;
/** Maximum unread data in a Unix socket (net.core.wmem_default; cannot be raised from inside the sandbox). */
const socketMb = 212_992 / 1e6;

/** Returns whether a process is running. A zombie does not count. */
export function isAlive(pid: number): boolean {
	const text = readProc(`${pid}/stat`);
	return /^[^ZX]$/.test(text.charAt(text.lastIndexOf(')') + 2));
}

/** Returns whether a process is gone completely: exited and reaped by its parent. */
export function isGone(pid: number): boolean {
	return readProc(`${pid}/stat`) === '';
}

/**
 * Returns a process's start time in clock ticks since boot, or null if it has exited. Distinguishes processes that
 * reuse an ID.
 */
export function startTime(pid: number): string | null {
	const text = readProc(`${pid}/stat`);
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	return /^[^ZX]$/.test(fields[0] ?? '') ? (fields[19] ?? null) : null;
}

interface Stat {
	readonly tasks: number;
	readonly memoryMb: number;
	readonly cpuSeconds: number;
}

/**
 * Returns the resource usage of a process and its descendants (Linux, /proc), or null if the process does not exist. In
 * a process namespace, orphans are reparented to its first process, so the tree covers everything that runs in it.
 * @param ownNetwork whether the root's child has its own network namespace, whose sockets should be counted
 */
export function readProcessTree(root: number, ownNetwork = false): TreeUse | null {
	const seen = new Set<number>();
	let tasks = 0;
	let memoryMb = 0;
	let cpuSeconds = 0;
	let level = [root];
	while (level.length > 0 && seen.size < maxProcesses) {
		const children: number[] = [];
		for (const pid of level) {
			const stat = readStat(pid);
			if (stat === null) continue;
			seen.add(pid);
			tasks += stat.tasks;
			memoryMb += stat.memoryMb;
			cpuSeconds += stat.cpuSeconds;
			children.push(...childrenOf(pid, stat.tasks));
		}
		level = children.filter((pid) => !seen.has(pid));
	}
	const processes = [...seen];
	// The root is in this machine's network namespace. Its child is the first process inside the sandbox's namespace and
	// cannot be killed by any program in it. Any other process may exit before it is inspected.
	const inside = ownNetwork ? processes[1] : undefined;
	if (inside !== undefined) memoryMb += unixSockets(inside) * socketMb;
	return seen.size === 0 ? null : { processes, tasks, memoryMb, cpuSeconds };
}

/**
 * Returns the number of Unix sockets in a process's network namespace, including sockets in transit to another process,
 * or 0 if the process has exited.
 */
function unixSockets(pid: number): number {
	const text = readProc(`${pid}/net/protocols`);
	// Format: `protocol size sockets memory ...`. Stream sockets have a separate line since Linux 5.15.
	const lines = text.split('\n').filter((line) => line.startsWith('UNIX'));
	return lines.reduce((sum, line) => sum + (Number(line.split(/ +/)[2]) || 0), 0);
}

function readStat(pid: number): Stat | null {
	const text = readProc(`${pid}/stat`);
	if (text === '') return null;
	// Format: `pid (name) state ...`. The name can contain anything, so count fields from its closing parenthesis.
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	if (fields[0] === 'X') return null;
	const number = (place: number) => Number(fields[place - 3]);
	return {
		tasks: number(20),
		memoryMb: number(24) * pageMb + pageTablesMb(pid, number(23) / 1e6),
		cpuSeconds: (number(14) + number(15) + number(16) + number(17)) / ticksPerSecond,
	};
}

/**
 * Returns the size of a process's page tables. Pages that were only read map to the shared zero page, which is not
 * charged to any process, but their page tables use real memory. A page table entry is 8 bytes per 4096-byte page; for
 * small address spaces, that upper bound is accurate enough.
 */
function pageTablesMb(pid: number, addressSpaceMb: number): number {
	if (addressSpaceMb < 2000) return addressSpaceMb / 512;
	const status = readProc(`${pid}/status`);
	return (Number(/^VmPTE:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / 1e6;
}

/** Children are listed under the thread that created them. */
function childrenOf(pid: number, tasks: number): number[] {
	const threads = tasks === 1 ? [String(pid)] : threadsOf(pid);
	return threads.flatMap((thread) =>
		readProc(`${pid}/task/${thread}/children`)
			.split(' ')
			.filter((word) => word !== '')
			.map(Number),
	);
}

function threadsOf(pid: number): string[] {
	try {
		return readdirSync(`/proc/${pid}/task`);
	} catch {
		return [];
	}
}
