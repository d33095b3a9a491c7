import { existsSync } from 'node:fs';
import type { SandboxLimits } from './sandbox.ts';

/** Per-process limits enforced by the kernel (setrlimit), as command-line arguments before the program. */
export interface Launcher {
	/** @param countsProcesses whether the kernel counts processes for this sandbox separately, so the limit is usable */
	wrap(limits: SandboxLimits, countsProcesses: boolean): readonly string[];
}

const mega = 1_000_000;

/** Uses prlimit from util-linux, which every common Linux distribution includes. */
const prlimit: Launcher = {
	wrap(limits, countsProcesses) {
		const cpu = Math.max(1, Math.ceil(limits.cpuSeconds));
		return [
			'prlimit',
			'--core=0',
			`--cpu=${cpu}:${cpu + 1}`,
			`--fsize=${limits.fileMb * mega}`,
			`--nofile=${limits.openFiles}`,
			`--as=${limits.addressSpaceMb * mega}`,
			...(countsProcesses ? [`--nproc=${limits.processes}`] : []),
			'--',
		];
	},
};

/** Uses the shell's ulimit. The option for the number of processes is -p in dash and -u in bash. */
const shell: Launcher = {
	wrap(limits, countsProcesses) {
		const cpu = Math.max(1, Math.ceil(limits.cpuSeconds));
		const lines = [
			'ulimit -c 0',
			`ulimit -t ${cpu}`,
			// In units of 512 bytes.
			`ulimit -f ${Math.floor((limits.fileMb * mega) / 512)}`,
			`ulimit -n ${limits.openFiles}`,
			`ulimit -v ${Math.floor((limits.addressSpaceMb * mega) / 1024)}`,
			...(countsProcesses
				? [`ulimit -u ${limits.processes} 2>/dev/null || ulimit -p ${limits.processes} 2>/dev/null || :`]
				: []),
		];
		return ['sh', '-c', `${lines.join('; ')}; exec "$@"`, 'sh'];
	},
};

export function findLauncher(exists: (path: string) => boolean = existsSync): Launcher {
	return exists('/usr/bin/prlimit') || exists('/bin/prlimit') ? prlimit : shell;
}

export const launchers = { prlimit, shell } as const;
