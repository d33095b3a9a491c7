import { sandboxEnvironment, workFolder } from './bubblewrapArguments.ts';
import type { SandboxCommand, SandboxLimits, SandboxProgram } from './sandbox.ts';

export interface ContainerPlan {
	readonly image: string;
	/** Name of the container, by which it is ended. */
	readonly name: string;
	readonly command: SandboxCommand;
	readonly limits: SandboxLimits;
	/** Folder outside that holds the command's files; null: there are none. */
	readonly files: string | null;
	/** File outside with the filter of system calls; null: the engine's own is used. */
	readonly filter: string | null;
}

/** Names that images use. */
const programs: Readonly<Record<SandboxProgram, string>> = { python: 'python3', node: 'node', sh: 'sh' };

/** A field of CSV, as which engines read a mount: a comma in the path of a temporary folder is no further option. */
const field = (text: string): string => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

/** Arguments for `docker run` and `podman run`, which understand the same ones. */
export function containerArguments({ image, name, command, limits, files, filter }: ContainerPlan): string[] {
	const disk = limits.diskMb * 1_000_000;
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
		...['--user', '65534:65534'],
		...['--hostname', 'sandbox'],
		...['--ipc', 'private'],
		...['--pids-limit', String(limits.processes + 1)],
		// The same number for both: no swap beside it.
		...['--memory', memory, '--memory-swap', memory],
		...['--ulimit', 'core=0', '--ulimit', `cpu=${cpu}:${cpu + 1}`],
		...['--ulimit', `fsize=${limits.fileMb * 1_000_000}`, '--ulimit', `nofile=${limits.openFiles}`],
		...['--shm-size', String(disk)],
		...['--tmpfs', `/tmp:rw,nosuid,nodev,size=${disk},mode=1777`],
		...['--tmpfs', `${workFolder}:rw,nosuid,nodev,size=${disk},mode=1777`],
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
