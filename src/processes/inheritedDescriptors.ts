import { closeSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** O_CLOEXEC in /proc/self/fdinfo, octal. */
const closeOnExec = 0o2000000;
const highest = 1023;

/**
 * Open files that this process was started with, beside its input and output, and that every program it starts would have
 * too (Linux): a terminal's pipes, a lock. Node marks what it opens itself.
 */
export async function inheritedDescriptors(): Promise<number[]> {
	const names = await readdir('/proc/self/fd').catch(() => []);
	const inherited = await Promise.all(
		names.map(async (name) => {
			const number = Number(name);
			if (number <= 2 || number > highest) return [];
			const info = await readFile(`/proc/self/fdinfo/${name}`, 'latin1').catch(() => null);
			if (info === null) return [];
			const flags = Number.parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? '0', 8);
			return (flags & closeOnExec) === 0 ? [number] : [];
		}),
	);
	return inherited.flat();
}

/**
 * Puts /dev/null in the place of descriptors that would be handed on, beside those that are set already.
 * @returns what closes the file here, once the program was started
 */
export function shutDescriptors(stdio: unknown[], inherited: readonly number[]): () => void {
	const open = inherited.filter((descriptor) => descriptor >= stdio.length || stdio[descriptor] === 'ignore');
	if (open.length === 0) return () => undefined;
	const nothing = openSync('/dev/null', 'r+');
	for (const descriptor of open) {
		while (stdio.length <= descriptor) stdio.push('ignore');
		stdio[descriptor] = nothing;
	}
	return () => closeSync(nothing);
}
