import { readdir, readFile } from 'node:fs/promises';

/** Clock ticks per second (USER_HZ), the same on all Linux systems. */
const ticksPerSecond = 100;

/**
 * Returns the CPU ticks of a process and of its reaped children, or null if the process is gone or there is no /proc.
 */
async function ticksOf(pid: number): Promise<number | null> {
	const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
	if (stat === null) return null;
	// The name in parentheses can contain any characters.
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	return [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0);
}

async function childrenOf(pid: number): Promise<number[]> {
	const tasks = await readdir(`/proc/${pid}/task`).catch(() => []);
	const lists = await Promise.all(
		tasks.map((task) => readFile(`/proc/${pid}/task/${task}/children`, 'utf8').catch(() => '')),
	);
	return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
}

/** Returns the ids of a process and all its descendants. */
export async function treeProcesses(root: number): Promise<number[]> {
	return [root, ...(await Promise.all((await childrenOf(root)).map(treeProcesses))).flat()];
}

/**
 * Returns the user and system seconds of a process and all its descendants, or null if the system does not report them.
 */
export async function treeSeconds(root: number): Promise<number | null> {
	const own = await ticksOf(root);
	if (own === null) return null;
	const children = await Promise.all((await childrenOf(root)).map(treeSeconds));
	return own / ticksPerSecond + children.reduce<number>((sum, seconds) => sum + (seconds ?? 0), 0);
}
