import { existsSync } from 'node:fs';
import type { SandboxLimits } from './sandbox.ts';

/** Limits that the kernel keeps for each process (setrlimit), as arguments before the program that they hold for. */
export interface Launcher {
	/** @param countsProcesses the kernel counts processes for this sandbox alone, so that its limit can be used */
	wrap(limits: SandboxLimits, countsProcesses: boolean): readonly string[];
}

const mega = 1_000_000;

/** util-linux has prlimit on every common Linux distribution. */
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

/** The shell's ulimit; dash calls the number of processes -p, bash -u. */
const shell: Launcher = {
	wrap(limits, countsProcesses) {
		const cpu = Math.max(1, Math.ceil(limits.cpuSeconds));
		const lines = [
			'ulimit -c 0',
			`ulimit -t ${cpu}`,
			// In blocks of 512 bytes.
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
