import type { Interpreter } from './interpreters.ts';
import type { SandboxCommand, SandboxLimits } from './sandbox.ts';

/** Features that bubblewrap and the kernel support on this machine, as determined by the probe. */
export interface BubblewrapFeatures {
	/** Whether the program can be prevented from creating user namespaces (bubblewrap 0.8 and newer). */
	readonly disableUserns: boolean;
	/** Whether a fresh /proc can be mounted. Some containers do not allow that, in which case there is no /proc. */
	readonly proc: boolean;
}

/** A top-level system folder: either a link (usr/lib) or a real folder, which is mounted read-only. */
export interface SystemFolder {
	readonly path: string;
	readonly link: string | null;
}

export interface BubblewrapPlan {
	readonly features: BubblewrapFeatures;
	readonly system: readonly SystemFolder[];
	readonly interpreter: Interpreter;
	readonly launcher: readonly string[];
	readonly command: SandboxCommand;
	readonly limits: SandboxLimits;
	/** File descriptor of the seccomp filter, or null if there is none. */
	readonly filterDescriptor: number | null;
	/** File descriptors of the files in the work folder. */
	readonly fileDescriptors: Readonly<Record<string, number>>;
	/** File descriptor to read the complete input from, or null if the program inherits its standard input. */
	readonly inputDescriptor: number | null;
	/** File descriptor that bubblewrap writes its status to. */
	readonly statusDescriptor: number;
}

/**
 * Parts of /etc that programs need: library lookup, the target of `python3` and the time zone, but no users, hosts or
 * keys.
 */
const etc = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime'];

/**
 * Process 1 is bubblewrap itself and is not subject to the system call filter, so its memory must be inaccessible. The
 * rest of /proc is read-only, so a sandbox run by root cannot change kernel settings.
 */
const proc = ['--proc', '/proc', '--tmpfs', '/proc/1', '--remount-ro', '/proc/1', '--remount-ro', '/proc'];

/** Work folder inside the sandbox, which is also the home folder. */
export const workFolder = '/work';

/** Standard input is a file, because Node would otherwise pass a socket, which cannot be opened as /dev/stdin. */
const inputFile = '/stdin';

export const sandboxEnvironment: Readonly<Record<string, string>> = {
	PATH: '/usr/local/bin:/usr/bin:/bin',
	HOME: workFolder,
	TMPDIR: '/tmp',
	LANG: 'C.UTF-8',
	// Keeps set iteration order the same every time an answer is scored.
	PYTHONHASHSEED: '0',
	PYTHONDONTWRITEBYTECODE: '1',
};

/**
 * Returns bubblewrap's arguments. They make only /usr and the interpreter visible (read-only), create namespaces of all
 * types and a new session, mount in-memory file systems of a fixed size for /tmp and the work folder, and drop all
 * capabilities.
 */
export function bubblewrapArguments(plan: BubblewrapPlan): string[] {
	const { features, system, interpreter, launcher, command, limits } = plan;
	const bytes = String(limits.diskMb * 1_000_000);
	const environment = { ...sandboxEnvironment, ...interpreter.environment };
	return [
		'--unshare-user',
		'--unshare-ipc',
		'--unshare-pid',
		'--unshare-net',
		'--unshare-uts',
		'--unshare-cgroup-try',
		...(features.disableUserns ? ['--disable-userns'] : []),
		'--die-with-parent',
		'--new-session',
		...['--cap-drop', 'ALL'],
		...['--uid', '65534', '--gid', '65534'],
		...['--hostname', 'sandbox'],
		'--clearenv',
		...Object.entries(environment).flatMap(([name, value]) => ['--setenv', name, value]),
		...['--ro-bind', '/usr', '/usr'],
		...system.flatMap(({ path, link }) => (link === null ? ['--ro-bind', path, path] : ['--symlink', link, path])),
		...etc.flatMap((path) => ['--ro-bind-try', path, path]),
		...(features.proc ? proc : []),
		...['--dev', '/dev'],
		...['--perms', '1777', '--size', bytes, '--tmpfs', '/dev/shm'],
		...['--perms', '1777', '--size', bytes, '--tmpfs', '/tmp'],
		...['--perms', '0755', '--size', bytes, '--tmpfs', workFolder],
		...interpreter.mounts.flatMap(([outside, inside]) => ['--ro-bind', outside, inside]),
		...Object.entries(plan.fileDescriptors).flatMap(([name, descriptor]) => [
			...['--perms', '0444', '--ro-bind-data', String(descriptor), `${workFolder}/${name}`],
		]),
		...(plan.inputDescriptor === null
			? []
			: ['--perms', '0444', '--ro-bind-data', String(plan.inputDescriptor), inputFile]),
		...['--remount-ro', '/dev', '--remount-ro', '/'],
		...['--chdir', workFolder],
		...['--json-status-fd', String(plan.statusDescriptor)],
		...(plan.filterDescriptor === null ? [] : ['--seccomp', String(plan.filterDescriptor)]),
		'--',
		...(plan.inputDescriptor === null ? [] : ['/bin/sh', '-c', `exec "$@" <${inputFile}`, 'sh']),
		...launcher,
		interpreter.path,
		...command.args,
	];
}
