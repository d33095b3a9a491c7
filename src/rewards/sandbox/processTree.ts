import { readdir, readFile } from 'node:fs/promises';

export interface TreeUse {
	/** All processes of the tree, its root first. */
	readonly processes: readonly number[];
	/** Processes and threads together. */
	readonly tasks: number;
	/** Pages that processes share count for each of them. */
	readonly residentMb: number;
	/** Of the tree, with descendants that have ended and were waited for. */
	readonly cpuSeconds: number;
}

/** A tree larger than this is beyond any limit; it is not looked at further. */
const mostProcesses = 4096;
/** Linux reports both in these units on every architecture that Node runs on. */
const ticksPerSecond = 100;
const pageMb = 4096 / 1e6;

/** Whether a process runs; one that has ended and waits for its parent does not. */
export async function isAlive(pid: number): Promise<boolean> {
	const text = await readFile(`/proc/${pid}/stat`, 'latin1').catch(() => '');
	return /^[^ZX]$/.test(text.charAt(text.lastIndexOf(')') + 2));
}

interface Stat {
	readonly tasks: number;
	readonly residentMb: number;
	readonly cpuSeconds: number;
}

/**
 * What a process and all its descendants use (Linux, /proc); null: the process is not there. In a process namespace
 * orphans become children of its first process, so the tree is everything that runs in there.
 */
export async function readProcessTree(root: number): Promise<TreeUse | null> {
	const seen = new Set<number>();
	let tasks = 0;
	let residentMb = 0;
	let cpuSeconds = 0;
	let level = [root];
	while (level.length > 0 && seen.size < mostProcesses) {
		const looks = await Promise.all(level.map(async (pid) => ({ pid, stat: await readStat(pid) })));
		const alive = looks.filter((look): look is { pid: number; stat: Stat } => look.stat !== null);
		for (const { pid, stat } of alive) {
			seen.add(pid);
			tasks += stat.tasks;
			residentMb += stat.residentMb;
			cpuSeconds += stat.cpuSeconds;
		}
		const children = await Promise.all(alive.map(({ pid, stat }) => childrenOf(pid, stat.tasks)));
		level = children.flat().filter((pid) => !seen.has(pid));
	}
	return seen.size === 0 ? null : { processes: [...seen], tasks, residentMb, cpuSeconds };
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
		residentMb: number(24) * pageMb,
		cpuSeconds: (number(14) + number(15) + number(16) + number(17)) / ticksPerSecond,
	};
}

/** Children hang on the thread that made them. */
async function childrenOf(pid: number, tasks: number): Promise<number[]> {
	const threads = tasks === 1 ? [String(pid)] : await readdir(`/proc/${pid}/task`).catch(() => []);
	const lists = await Promise.all(
		threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'latin1').catch(() => '')),
	);
	return lists.flatMap((list) => list.split(' ').filter((word) => word !== '')).map(Number);
}
