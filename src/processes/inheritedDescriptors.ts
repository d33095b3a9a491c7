import { closeSync, openSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';

/** O_CLOEXEC in /proc/self/fdinfo, octal. */
const closeOnExec = 0o2000000;
const highest = 1023;

/**
 * Returns open file descriptors other than stdio that this process inherited and that every child would inherit
 * (Linux), such as terminal pipes or a lock. Node sets close-on-exec on the files it opens itself.
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
 * Redirects to /dev/null the descriptors that a child would inherit, except those that `stdio` already sets.
 * @returns a function that closes /dev/null in this process; call it after starting the child
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
