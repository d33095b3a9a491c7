import { execFile } from 'node:child_process';
import { access, constants, lstat, realpath } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { isInside } from '../../files/isInside.ts';
import type { SandboxProgram } from './sandbox.ts';

/** An interpreter on this machine, as it appears in a sandbox. */
export interface Interpreter {
	/** Path to the program inside the sandbox. */
	readonly path: string;
	/** Required paths outside /usr, and their locations in the sandbox. Mounted read-only. */
	readonly mounts: readonly (readonly [outside: string, inside: string])[];
	readonly environment: Readonly<Record<string, string>>;
}

export type Interpreters = Readonly<Record<SandboxProgram, Interpreter | { readonly missing: string }>>;

const systemFolders = ['/usr/bin', '/usr/local/bin', '/bin'];

/**
 * Returns the interpreters for bubblewrap: the system's Python, or the one on the PATH if the system has none, and the
 * Node executable that is running this code.
 */
export async function findInterpreters(): Promise<Interpreters> {
	const [python, node, sh] = await Promise.all([findPython(), findNode(), system('sh')]);
	return {
		python: python ?? { missing: 'Python 3 is not installed.' },
		node,
		sh: sh ?? { missing: 'The system has no shell.' },
	};
}

async function system(name: string): Promise<Interpreter | null> {
	for (const folder of systemFolders) {
		const path = join(folder, name);
		const real = await realpath(path).catch(() => null);
		if (real !== null && isInside(real, '/usr')) return { path: real, mounts: [], environment: {} };
	}
	return null;
}

/** Returns the absolute path to a program, or null if no folder on the PATH contains it. */
export async function findOnPath(name: string, path = process.env.PATH ?? ''): Promise<string | null> {
	for (const folder of path.split(delimiter)) {
		const file = join(folder, name);
		const found =
			isAbsolute(folder) &&
			(await access(file, constants.X_OK).then(
				() => true,
				() => false,
			));
		if (found) return file;
	}
	return null;
}

async function findPython(): Promise<Interpreter | null> {
	const ofSystem = await system('python3');
	if (ofSystem !== null) return ofSystem;
	const script = 'import os, sys; print(os.path.realpath(sys.executable)); print(os.path.realpath(sys.base_prefix))';
	const { stdout } = await promisify(execFile)('python3', ['-I', '-c', script], { timeout: 10_000 }).catch(() => ({
		stdout: '',
	}));
	const [path, prefix] = stdout.split('\n');
	if (path === undefined || prefix === undefined || !isAbsolute(path) || !isAbsolute(prefix)) return null;
	// An installation that contains the home folder would expose it.
	if (!isInside(path, prefix) || isInside(homedir(), prefix)) return null;
	return { path, mounts: isInside(prefix, '/usr') ? [] : [[prefix, prefix]], environment: {} };
}

async function findNode(): Promise<Interpreter> {
	const path = await realpath(process.execPath);
	if (process.versions.electron !== undefined) {
		// Electron needs the files next to its executable.
		const inside = `/opt/node/${relative(dirname(path), path)}`;
		return { path: inside, mounts: [[dirname(path), '/opt/node']], environment: { ELECTRON_RUN_AS_NODE: '1' } };
	}
	if (isInside(path, '/usr')) return { path, mounts: [], environment: {} };
	return { path: '/opt/node', mounts: [[path, '/opt/node']], environment: {} };
}

/** Returns whether an unprivileged user can access a path. Root can read folders that other users cannot. */
export async function isOpenToAll(path: string): Promise<boolean> {
	for (let at = path; ; at = dirname(at)) {
		const stat = await lstat(at).catch(() => null);
		if (stat === null || (stat.mode & 0o005) !== 0o005) return false;
		if (at === dirname(at)) return true;
	}
}
