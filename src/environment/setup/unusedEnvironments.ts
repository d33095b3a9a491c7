import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { runProgram } from '../../processes/runProgram.ts';

/**
 * Removes the environments of a folder but for the one that is in use: what broken set-ups have left, and older ones. One
 * that a process still runs in is left for the next time.
 * @param keep name of the one that is in use; null: none is
 * @returns those that were left
 */
export async function removeUnusedEnvironments(folder: string, keep: string | null): Promise<string[]> {
	const names = (await readdir(folder).catch(() => [] as string[])).filter((name) => name !== keep);
	if (names.length === 0) return [];
	const commands = await runningCommands();
	const left: string[] = [];
	for (const name of names) {
		const path = join(folder, name);
		const used = commands.some((command) => command.includes(path + sep));
		if (used || !(await removeFolder(path))) left.push(name);
	}
	return left;
}

/** Removes a folder so that it is either whole or gone, as far as that can be. @returns false when something in it is in use */
export async function removeFolder(path: string): Promise<boolean> {
	const aside = `${path}.gone`;
	try {
		// Windows refuses this while a program of it runs.
		if (!path.endsWith('.gone')) await rename(path, aside);
		await rm(path.endsWith('.gone') ? path : aside, { recursive: true, force: true, maxRetries: 3 });
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'ENOENT';
	}
}

/** Command lines of this machine's processes, as far as they are shown; none on Windows, where a rename tells. */
async function runningCommands(): Promise<string[]> {
	if (process.platform === 'win32') return [];
	if (process.platform === 'linux') {
		const pids = (await readdir('/proc').catch(() => [] as string[])).filter((name) => /^\d+$/.test(name));
		return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
	}
	const listed = await runProgram('ps', ['-axww', '-o', 'command='], { limitMs: 20_000 }).catch(() => null);
	return listed === null ? [] : listed.stdout.split('\n');
}
