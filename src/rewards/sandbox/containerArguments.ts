import { sandboxEnvironment, workFolder } from './bubblewrapArguments.ts';
import type { SandboxCommand, SandboxLimits, SandboxProgram } from './sandbox.ts';

export const containerEngines = ['docker', 'podman'] as const;
export type ContainerEngine = (typeof containerEngines)[number];

export interface ContainerPlan {
	readonly engine: ContainerEngine;
	readonly image: string;
	/** Container name, used to stop it. */
	readonly name: string;
	readonly command: SandboxCommand;
	readonly limits: SandboxLimits;
	/** Maximum lifetime of the container, in seconds. */
	readonly timeoutSeconds: number;
	/** Folder on the host that contains the command's files, or null if there are none. */
	readonly files: string | null;
	/** File on the host that contains the system call filter, or null to use the engine's default filter. */
	readonly filter: string | null;
}

/** Program names used in container images. */
const programs: Readonly<Record<SandboxProgram, string>> = { python: 'python3', node: 'node', sh: 'sh' };

/**
 * Quotes a CSV field. Engines parse mounts as CSV, so a comma in a temporary folder's path must not start another
 * option.
 */
const field = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** User ID of `nobody`. */
const user = 65534;

/**
 * Options that differ between engines. In-memory file systems must belong to the user, because some versions of runc
 * use the mode of the image's folder instead of the requested one. Podman can hide the memory of the container's first
 * process, which runs as the program's user, and can stop the container itself if no other process is left to do it.
 */
const own: Readonly<
	Record<ContainerEngine, { readonly fileSystem: string; options(timeoutSeconds: number): string[] }>
> = {
	docker: { fileSystem: `uid=${user},gid=${user}`, options: () => [] },
	podman: {
		fileSystem: 'U,notmpcopyup',
		options: (timeoutSeconds) => [
			...['--security-opt', 'mask=/proc/1/mem:/proc/1/environ'],
			...['--timeout', String(timeoutSeconds)],
		],
	},
};

/** Returns the arguments for `docker run` or `podman run`, which are mostly the same. */
export function containerArguments(plan: ContainerPlan): string[] {
	const { engine, image, name, command, limits, files, filter } = plan;
	const disk = limits.diskMb * 1_000_000;
	const fileSystem = `rw,nosuid,nodev,size=${disk},mode=1777,${own[engine].fileSystem}`;
	const cpu = Math.max(1, Math.ceil(limits.cpuSeconds));
	const memory = String(limits.memoryMb * 1_000_000);
	return [
		'run',
		'--rm',
		'--interactive',
		// Use an init process that reaps orphans. It counts as an additional process.
		'--init',
		'--no-healthcheck',
		...['--name', name],
		// Images are pulled by users, never by rewards.
		...['--pull', 'never'],
		...['--network', 'none'],
		'--read-only',
		...['--cap-drop', 'ALL'],
		...['--security-opt', 'no-new-privileges'],
		...(filter === null ? [] : ['--security-opt', `seccomp=${filter}`]),
		...own[engine].options(plan.timeoutSeconds),
		...['--user', `${user}:${user}`],
		...['--hostname', 'sandbox'],
		...['--ipc', 'private'],
		...['--pids-limit', String(limits.processes + 1)],
		// With the same value for both, there is no additional swap.
		...['--memory', memory, '--memory-swap', memory],
		...['--ulimit', 'core=0', '--ulimit', `cpu=${cpu}:${cpu + 1}`],
		...['--ulimit', `fsize=${limits.fileMb * 1_000_000}`, '--ulimit', `nofile=${limits.openFiles}`],
		...['--shm-size', String(disk)],
		...['--tmpfs', `/tmp:${fileSystem}`],
		...['--tmpfs', `${workFolder}:${fileSystem}`],
		...Object.keys(command.files ?? {}).flatMap((file) => [
			...['--mount', `type=bind,${field(`source=${files}/${file}`)},target=${workFolder}/${file},readonly`],
		]),
		...['--workdir', workFolder],
		...Object.entries(sandboxEnvironment)
			.filter(([variable]) => variable !== 'PATH')
			.flatMap(([variable, value]) => ['--env', `${variable}=${value}`]),
		...['--log-driver', 'none'],
		// Bypass the image's own entry point.
		...['--entrypoint', programs[command.program]],
		image,
		...command.args,
	];
}
