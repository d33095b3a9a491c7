import { readFile, readlink } from 'node:fs/promises';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Platform } from './platform.ts';

/**
 * Parses `pid (comm) state ppid ...`. comm can contain spaces and parentheses, so count fields from the last closing
 * parenthesis.
 */
function startFromStat(stat: string): string | null {
	const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
	const state = fields[0];
	if (state === 'Z' || state === 'X') return null;
	return fields[19] ?? null;
}

async function bootTime(): Promise<string> {
	const stat = await readFile('/proc/stat', 'utf8').catch(() => '');
	return /^btime (\d+)$/m.exec(stat)?.[1] ?? 'unknown';
}

export const platformLinux: Platform = {
	async bootId() {
		const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(bootTime);
		// Containers share the boot ID but not process IDs.
		const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
		return `${boot.trim()}/${namespace.replace(/\D/g, '')}`;
	},
	async processStart(pid) {
		try {
			return startFromStat(await readFile(`/proc/${pid}/stat`, 'utf8'));
		} catch {
			return null;
		}
	},
	dataFolder(environment) {
		const base = environment.XDG_DATA_HOME;
		return join(base && isAbsolute(base) ? base : join(homedir(), '.local', 'share'), 'reasoning-lab');
	},
	runtimeFolders(environment) {
		const base = environment.XDG_RUNTIME_DIR;
		const fallback = `/tmp/reasoning-lab-${process.getuid?.() ?? 0}`;
		return base && isAbsolute(base) ? [join(base, 'reasoning-lab'), fallback] : [fallback];
	},
	socketPath: (folder, name) => join(folder, `${name}.sock`),
	hasFileOwners: true,
};
