import type { Interpreter } from './interpreters.ts';
import type { SandboxCommand, SandboxLimits } from './sandbox.ts';

/** What bubblewrap and the kernel allow here, as the probe found. */
export interface BubblewrapFeatures {
	/** The program cannot make user namespaces of its own (bubblewrap 0.8 and newer). */
	readonly disableUserns: boolean;
	/** A fresh /proc can be mounted; some containers do not allow it, and then there is none. */
	readonly proc: boolean;
}

/** Where a top folder of the system leads: a link (usr/lib), or a folder of its own that is shown read-only. */
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
	/** File descriptor of the seccomp filter; null: there is none. */
	readonly filterDescriptor: number | null;
	/** File descriptor of each file of the work folder. */
	readonly fileDescriptors: Readonly<Record<string, number>>;
	/** File descriptor with the whole input; null: the input is what the process is given as its own. */
	readonly inputDescriptor: number | null;
	/** File descriptor that reports the start. */
	readonly statusDescriptor: number;
}

/** Of /etc a program needs how libraries are found, what `python3` is, and the time zone; no users, hosts or keys. */
const etc = ['/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d', '/etc/alternatives', '/etc/localtime'];

/**
 * Process 1 is bubblewrap's own, and the filter of system calls does not hold for it: nobody may get at its memory. The rest
 * is read-only, so that a sandbox of root cannot change the kernel's settings.
 */
const proc = ['--proc', '/proc', '--tmpfs', '/proc/1', '--remount-ro', '/proc/1', '--remount-ro', '/proc'];

/** The work folder inside, and the home folder. */
export const workFolder = '/work';

/** Input is a file, for what Node gives a program is a socket, and that cannot be opened as /dev/stdin. */
const inputFile = '/stdin';

export const sandboxEnvironment: Readonly<Record<string, string>> = {
	PATH: '/usr/local/bin:/usr/bin:/bin',
	HOME: workFolder,
	TMPDIR: '/tmp',
	LANG: 'C.UTF-8',
	// The order of sets is then the same whenever the same answer is scored.
	PYTHONHASHSEED: '0',
	PYTHONDONTWRITEBYTECODE: '1',
};

/**
 * bubblewrap's arguments: nothing of this machine but /usr and the interpreter, read-only; namespaces of all kinds; a
 * file system in memory with a fixed size for /tmp and the work folder; no capabilities and a new session.
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
