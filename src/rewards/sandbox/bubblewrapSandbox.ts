import { execFile } from 'node:child_process';
import { lstat, readlink } from 'node:fs/promises';
import { release } from 'node:os';
import { promisify } from 'node:util';
import { Failure } from '../../base/failure.ts';
import { inheritedDescriptors } from '../../processes/inheritedDescriptors.ts';
import { isGone } from '../../processes/procfs.ts';
import { type BubblewrapFeatures, bubblewrapArguments, type SystemFolder } from './bubblewrapArguments.ts';
import type { ControlGroup } from './controlGroup.ts';
import { type ControlGroups, openControlGroups } from './controlGroups.ts';
import { checkFileNames } from './fileFolder.ts';
import { findInterpreters, findOnPath, type Interpreters, isOpenToAll } from './interpreters.ts';
import { findLauncher } from './launcher.ts';
import { runSandboxed } from './runSandboxed.ts';
import {
	defaultSandboxLimits,
	type Sandbox,
	type SandboxCommand,
	type SandboxLimits,
	type SandboxProcess,
	type SandboxProgram,
} from './sandbox.ts';
import { seccompFilter } from './seccompFilter.ts';
import { superviseProcess } from './superviseProcess.ts';

export interface BubblewrapOptions {
	/** If false, root remains root outside the sandbox, for environments where other users are not available. */
	readonly dropUser?: boolean;
}

interface Setup extends BubblewrapFeatures {
	readonly program: string;
	readonly interpreters: Interpreters;
	readonly system: readonly SystemFolder[];
	readonly dropUser: boolean;
	readonly inherited: readonly number[];
	/** Control groups (one per program), or the reason why there are none. */
	readonly groups: ControlGroups | { readonly missing: string };
}

/** Number of the sandbox's own processes: the one that waits outside, and the first one inside. */
const ownTasks = 2;
/** Number of in-memory file systems: /tmp, /dev/shm and the work folder. Any of them can fill up. */
const fileSystems = 3;
/**
 * Control group memory reserved for pages of program files, in MB. Without it, the kernel would keep rereading them.
 */
const programFilesMb = 32;

/** Returns whether the kernel counts a user's processes per user namespace, as it has since Linux 5.14. */
function countsProcessesByNamespace(kernel = release()): boolean {
	const [major = 0, minor = 0] = kernel.split('.').map(Number);
	return major > 5 || (major === 5 && minor >= 14);
}

/**
 * Returns a user ID that is not in use. That user owns no files and, unlike root, is subject to the kernel's process
 * limit. The ID is above the ranges assigned by distributions and containers.
 */
function freshUser(): number {
	return 0x60000000 + Math.floor(Math.random() * 0x0fffffff);
}

class BubblewrapSandbox implements Sandbox {
	readonly kind = 'bubblewrap';
	readonly description: string;
	readonly gaps: string[];
	readonly #setup: Setup;
	readonly #filter = seccompFilter();
	readonly #launcher = findLauncher();
	#first: number | null = null;

	constructor(setup: Setup) {
		this.#setup = setup;
		this.description = [
			'bubblewrap: no network, separate namespaces, a read-only system, no home folder',
			...(this.#filter === null ? [] : ['filtered system calls']),
			...(setup.dropUser ? ['a separate user'] : []),
			...(setup.proc ? [] : ['no /proc']),
			'missing' in setup.groups
				? `memory and processes checked every 20 ms (no control group: ${setup.groups.missing})`
				: 'memory and processes limited by a control group and checked every 20 ms',
		].join(', ');
		this.gaps = [
			...(this.#filter === null ? [`a system call filter (not available for ${process.arch})`] : []),
			...(setup.dropUser || process.getuid?.() !== 0 ? [] : ['a separate user outside the sandbox']),
		];
	}

	missing(program: SandboxProgram): string | null {
		const interpreter = this.#setup.interpreters[program];
		return 'missing' in interpreter ? interpreter.missing : null;
	}

	start(command: SandboxCommand, signal?: AbortSignal): SandboxProcess {
		return this.#start(command, null, signal);
	}

	#start(command: SandboxCommand, input: string | null, signal: AbortSignal | undefined): SandboxProcess {
		const { interpreters, dropUser } = this.#setup;
		const interpreter = interpreters[command.program];
		if ('missing' in interpreter) throw new Failure('unavailable', interpreter.missing);
		const limits = { ...defaultSandboxLimits, ...command.limits };
		const data: Buffer[] = this.#filter === null ? [] : [this.#filter];
		const fileDescriptors: Record<string, number> = {};
		checkFileNames(command.files ?? {});
		const group = this.#makeGroup(limits);
		const firstData = group === undefined ? 4 : 5;
		for (const [name, text] of Object.entries(command.files ?? {})) {
			fileDescriptors[name] = firstData + data.length;
			data.push(Buffer.from(text));
		}
		const inputDescriptor = input === null ? null : firstData + data.length;
		if (input !== null) data.push(Buffer.from(input));
		// The kernel does not count processes for root.
		const counts = (dropUser || process.getuid?.() !== 0) && countsProcessesByNamespace();
		return superviseProcess(
			{
				name: 'bubblewrap',
				program: this.#setup.program,
				args: bubblewrapArguments({
					features: this.#setup,
					system: this.#setup.system,
					interpreter,
					launcher: this.#launcher.wrap(limits, counts),
					command,
					limits,
					filterDescriptor: this.#filter === null ? null : firstData,
					fileDescriptors,
					inputDescriptor,
					statusDescriptor: 3,
				}),
				environment: {},
				folder: '/',
				...(dropUser ? { user: freshUser() } : {}),
				group,
				data,
				inherited: this.#setup.inherited,
				reportsStart: true,
				ownNetwork: true,
				ownTasks,
				onFirst: (pid) => {
					this.#first = pid;
				},
			},
			limits,
			signal,
		);
	}

	#makeGroup(limits: SandboxLimits): ControlGroup | undefined {
		const { groups } = this.#setup;
		if ('missing' in groups) return undefined;
		// Data in the file systems is charged as well. Allow one extra task so that the supervisor notices when the limit
		// is exceeded.
		const memoryBytes = (limits.memoryMb + fileSystems * limits.diskMb + programFilesMb) * 1_000_000;
		try {
			return groups.make({ memoryBytes, tasks: limits.processes + ownTasks + 1 });
		} catch (error) {
			const failure = Failure.from(error, 'Cannot create a control group for the sandbox');
			throw new Failure('unavailable', failure.message, undefined, { cause: error });
		}
	}

	/**
	 * Checks whether the previous sandbox's process was reaped. Process 1 in a container might be a program that does not
	 * reap orphaned processes.
	 */
	async lookForZombie(): Promise<void> {
		const first = this.#first;
		for (let look = 0; look < 20; look++) {
			if (first === null || isGone(first)) return;
			await new Promise((resolve) => setTimeout(resolve, 10));
		}
		this.gaps.push('a process that reaps finished sandboxes (start the container with docker run --init)');
	}

	async run(command: SandboxCommand & { readonly stdin?: string }, signal?: AbortSignal) {
		return runSandboxed(this.#start(command, command.stdin ?? '', signal), '');
	}
}

const topFolders = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/nix/store'];

async function systemFolders(): Promise<SystemFolder[]> {
	const folders: SystemFolder[] = [];
	for (const path of topFolders) {
		const stat = await lstat(path).catch(() => null);
		if (stat?.isSymbolicLink()) folders.push({ path, link: await readlink(path) });
		else if (stat?.isDirectory()) folders.push({ path, link: null });
	}
	return folders;
}

/** Returns whether the sandbox's user can access the interpreters. If not, they run as root outside the sandbox. */
async function reachable(interpreters: Interpreters): Promise<boolean> {
	const paths = Object.values(interpreters).flatMap((interpreter) =>
		'missing' in interpreter ? [] : interpreter.mounts.map(([outside]) => outside),
	);
	return (await Promise.all(paths.map(isOpenToAll))).every(Boolean);
}

const install =
	'Install bubblewrap (Debian, Ubuntu: sudo apt install bubblewrap; Fedora: sudo dnf install bubblewrap), or set reasoningLab.sandbox.mode to a container.';
const allowNamespaces =
	'Allow user namespaces (Ubuntu: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0; Debian: sudo sysctl kernel.unprivileged_userns_clone=1), or set reasoningLab.sandbox.mode to a container.';

/**
 * Creates a bubblewrap sandbox after successfully running a program in it. Fails with `unavailable` and advice if
 * bubblewrap is not installed or the kernel does not let it create namespaces.
 */
export async function bubblewrapSandbox(options: BubblewrapOptions = {}): Promise<Sandbox> {
	if (process.platform !== 'linux') {
		throw new Failure(
			'unavailable',
			'bubblewrap is available only on Linux.',
			'Set reasoningLab.sandbox.mode to a container, such as container:python:3.12-slim.',
		);
	}
	const program = await findOnPath('bwrap');
	if (program === null) throw new Failure('unavailable', 'bubblewrap is not installed.', install);
	const help = await promisify(execFile)(program, ['--help'], { timeout: 10_000 }).catch((error: unknown) => {
		throw new Failure('unavailable', 'bubblewrap failed to start.', install, { cause: error });
	});
	const [interpreters, system, inherited, groups] = await Promise.all([
		findInterpreters(),
		systemFolders(),
		inheritedDescriptors(),
		openControlGroups(),
	]);
	const isRoot = process.getuid?.() === 0;
	const users = isRoot && options.dropUser !== false && (await reachable(interpreters)) ? [true, false] : [false];
	let last: unknown;
	const disableUserns = help.stdout.includes('--disable-userns');
	const refused = { missing: 'the kernel does not allow a program to move itself into one' };
	const features = [true, false].flatMap((proc) =>
		users.flatMap((dropUser) =>
			('missing' in groups ? [groups] : [groups, refused]).map((tried) => ({ proc, dropUser, groups: tried })),
		),
	);
	for (const feature of features) {
		const sandbox = new BubblewrapSandbox({ program, interpreters, system, inherited, disableUserns, ...feature });
		try {
			const { stdout } = await sandbox.run({ program: 'sh', args: ['-c', 'echo works'] });
			if (stdout === 'works\n') {
				await sandbox.lookForZombie();
				return sandbox;
			}
			last = new Failure('unavailable', 'bubblewrap started, but no program can run in it.');
		} catch (error) {
			last = error;
		}
	}
	throw new Failure('unavailable', Failure.from(last).message, allowNamespaces, { cause: last });
}
