import { sandboxEnvironment, workFolder } from './bubblewrapArguments.ts';
import type { SandboxCommand, SandboxLimits, SandboxProgram } from './sandbox.ts';

export const containerEngines = ['docker', 'podman'] as const;
export type ContainerEngine = (typeof containerEngines)[number];

export interface ContainerPlan {
	readonly engine: ContainerEngine;
	readonly image: string;
	/** Name of the container, by which it is ended. */
	readonly name: string;
	readonly command: SandboxCommand;
	readonly limits: SandboxLimits;
	/** How long the container may be there at all, seconds. */
	readonly timeoutSeconds: number;
	/** Folder outside that holds the command's files; null: there are none. */
	readonly files: string | null;
	/** File outside with the filter of system calls; null: the engine's own is used. */
	readonly filter: string | null;
}

/** Names that images use. */
const programs: Readonly<Record<SandboxProgram, string>> = { python: 'python3', node: 'node', sh: 'sh' };

/** A field of CSV, as which engines read a mount: a comma in the path of a temporary folder is no further option. */
const field = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Nobody's user. */
const user = 65534;

/**
 * What engines say in words of their own. File systems in memory belong to the user: with some versions of runc their mode
 * is that of the folder in the image, whatever was asked for. Podman can hide the memory of the container's first process,
 * which has the program's user, and ends the container itself where nobody is left to do so.
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

/** Arguments for `docker run` and `podman run`, which understand the same ones but for a few. */
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
		// A first process that reaps orphans; it counts as one more.
		'--init',
		'--no-healthcheck',
		...['--name', name],
		// An image is fetched by a person, not by a reward.
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
		// The same number for both: no swap beside it.
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
		// The image's own entry point must not stand between.
		...['--entrypoint', programs[command.program]],
		image,
		...command.args,
	];
}
