import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { runProgram } from '../../processes/runProgram.ts';

/**
 * Removes all environments in a folder except the active one: leftovers from failed setups and older environments. An
 * environment still in use by a process is kept until the next setup.
 * @param keep name of the active environment; null if there is none
 * @returns the environments that were kept
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

/** Removes a folder as atomically as the system allows. @returns false if it is in use */
export async function removeFolder(path: string): Promise<boolean> {
	const aside = `${path}.gone`;
	try {
		// On Windows, the rename fails while a program in the folder is running.
		if (!path.endsWith('.gone')) await rename(path, aside);
		await rm(path.endsWith('.gone') ? path : aside, { recursive: true, force: true, maxRetries: 3 });
		return true;
	} catch (error) {
		return (error as NodeJS.ErrnoException).code === 'ENOENT';
	}
}

/**
 * Returns the visible command lines of processes on this machine; empty on Windows, where a failed rename indicates
 * that an environment is in use.
 */
async function runningCommands(): Promise<string[]> {
	if (process.platform === 'win32') return [];
	if (process.platform === 'linux') {
		const pids = (await readdir('/proc').catch(() => [] as string[])).filter((name) => /^\d+$/.test(name));
		return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
	}
	const listed = await runProgram('ps', ['-axww', '-o', 'command='], { limitMs: 20_000 }).catch(() => null);
	return listed === null ? [] : listed.stdout.split('\n');
}
