import { readdir, readFile } from 'node:fs/promises';

export interface TreeUse {
	/** All processes of the tree, its root first. */
	readonly processes: readonly number[];
	/** Processes and threads together. */
	readonly tasks: number;
	/** Resident memory with page tables and buffers of sockets. Pages that processes share count for each of them. */
	readonly memoryMb: number;
	/** Of the tree, with descendants that have ended and were waited for. */
	readonly cpuSeconds: number;
}

/** A tree larger than this is beyond any limit; it is not inspected further. */
const maxProcesses = 4096;
/** Linux reports both in these units on every architecture that Node runs on. */
const ticksPerSecond = 100;
const pageMb = 4096 / 1e6;
/** A Unix socket holds at most this much of what nobody has read (net.core.wmem_default; the sandbox cannot raise it). */
const socketMb = 212_992 / 1e6;

/** Whether a process runs; one that has ended and waits for its parent does not. */
export async function isAlive(pid: number): Promise<boolean> {
	const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
	return /^[^ZX]$/.test(text.charAt(text.lastIndexOf(')') + 2));
}

/** Whether nothing is left of a process, not even an entry that its parent has not taken. */
export async function isGone(pid: number): Promise<boolean> {
	return (await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '')) === '';
}

/** When a process started, in ticks since the machine did, which tells two with the same number apart; null: it has ended. */
export async function startTime(pid: number): Promise<string | null> {
	const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	return /^[^ZX]$/.test(fields[0] ?? '') ? (fields[19] ?? null) : null;
}

interface Stat {
	readonly tasks: number;
	readonly memoryMb: number;
	readonly cpuSeconds: number;
}

/**
 * What a process and all its descendants use (Linux, /proc); null: the process does not exist. In a process namespace
 * orphans become children of its first process, so the tree is everything that runs in there.
 * @param ownNetwork the root's child has a network namespace of its own, whose sockets count
 */
export async function readProcessTree(root: number, ownNetwork = false): Promise<TreeUse | null> {
	const seen = new Set<number>();
	let tasks = 0;
	let memoryMb = 0;
	let cpuSeconds = 0;
	let level = [root];
	while (level.length > 0 && seen.size < maxProcesses) {
		const looks = await Promise.all(level.map(async (pid) => ({ pid, stat: await readStat(pid) })));
		const alive = looks.filter((look): look is { pid: number; stat: Stat } => look.stat !== null);
		for (const { pid, stat } of alive) {
			seen.add(pid);
			tasks += stat.tasks;
			memoryMb += stat.memoryMb;
			cpuSeconds += stat.cpuSeconds;
		}
		const children = await Promise.all(alive.map(({ pid, stat }) => childrenOf(pid, stat.tasks)));
		level = children.flat().filter((pid) => !seen.has(pid));
	}
	const processes = [...seen];
	// The root itself lives in the network namespace of this machine. Its child is the first process inside, which no
	// program can end; any other may be gone before it is inspected.
	const inside = ownNetwork ? processes[1] : undefined;
	if (inside !== undefined) memoryMb += (await unixSockets(inside)) * socketMb;
	return seen.size === 0 ? null : { processes, tasks, memoryMb, cpuSeconds };
}

/** Unix sockets in the network namespace of a process, those on the way to another process too; 0: it has ended. */
async function unixSockets(pid: number): Promise<number> {
	const text = await readFile(`/proc/${pid}/net/protocols`, 'latin1').catch(() => '');
	// `protocol size sockets memory ...`; streams have a line of their own since Linux 5.15.
	const lines = text.split('\n').filter((line) => line.startsWith('UNIX'));
	return lines.reduce((sum, line) => sum + (Number(line.split(/ +/)[2]) || 0), 0);
}

async function readStat(pid: number): Promise<Stat | null> {
	const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => null);
	if (text === null) return null;
	// `pid (name) state ...`: the name may hold anything, so fields are counted after its last parenthesis.
	const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
	if (fields[0] === 'X') return null;
	const number = (place: number) => Number(fields[place - 3]);
	return {
		tasks: number(20),
		memoryMb: number(24) * pageMb + (await pageTablesMb(pid, number(23) / 1e6)),
		cpuSeconds: (number(14) + number(15) + number(16) + number(17)) / ticksPerSecond,
	};
}

/**
 * Memory of a process's page tables. Pages that were only read are one page of zeros, which nobody is charged for; their
 * tables are real memory. A table has 8 bytes for each page of 4096: of little address space that bound is enough.
 */
async function pageTablesMb(pid: number, addressSpaceMb: number): Promise<number> {
	if (addressSpaceMb < 2000) return addressSpaceMb / 512;
	const status = await readFile(`/proc/${pid}/status`, 'latin1').catch(() => '');
	return (Number(/^VmPTE:\s*(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024) / 1e6;
}

/** Children hang on the thread that made them. */
async function childrenOf(pid: number, tasks: number): Promise<number[]> {
	const threads = tasks === 1 ? [String(pid)] : await readdir(`/proc/${pid}/task`).catch(() => []);
	const lists = await Promise.all(
		threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'latin1').catch(() => '')),
	);
	return lists.flatMap((list) => list.split(' ').filter((word) => word !== '')).map(Number);
}
