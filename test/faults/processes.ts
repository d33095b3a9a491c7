import { readdir, readFile } from 'node:fs/promises';
import type { Role } from './work.ts';

export interface FoundProcess {
	readonly pid: number;
	readonly command: string;
	readonly role: Role | null;
}

/** Substrings of command lines with the role they indicate; the first match wins. */
const marks: readonly (readonly [string, Role])[] = [
	['reasoning_lab_trainer', 'trainer'],
	['rewardHost', 'rewards'],
	['reward_host', 'rewards'],
	['dist/pipeline.js', 'runner'],
	['dist/cli.js', 'search'],
	['dist/engine.js', 'engine'],
	['dist/driver.js', 'engine'],
	['src/engines/driver/main.ts', 'engine'],
];

/** Returns the running processes, except this one, whose command line or environment names a folder. Linux only. */
export async function processesIn(folder: string): Promise<FoundProcess[]> {
	const found: FoundProcess[] = [];
	for (const name of await readdir('/proc')) {
		if (!/^\d+$/.test(name) || Number(name) === process.pid) continue;
		const read = (file: string) => readFile(`/proc/${name}/${file}`, 'utf8').catch(() => '');
		const [command, environment, status] = await Promise.all([read('cmdline'), read('environ'), read('stat')]);
		// Zombies have neither and are left for their parent to reap.
		if (!`${command}${environment}`.includes(folder) || / Z /.test(status.slice(status.lastIndexOf(')')))) continue;
		const words = command.replaceAll('\0', ' ').trim();
		// A shell that supervises a program has the program in its own command line.
		const shell = /^\S*\b(?:sh|bash)\b/.test(words);
		const role = shell ? null : (marks.find(([mark]) => words.includes(mark))?.[1] ?? null);
		found.push({ pid: Number(name), command: words, role });
	}
	return found;
}

export function signal(pids: readonly number[], name: NodeJS.Signals): void {
	for (const pid of pids) {
		try {
			process.kill(pid, name);
		} catch (error) {
			// The process has just exited on its own.
			if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
		}
	}
}
