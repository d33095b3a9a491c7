import { closeSync, mkdirSync, openSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface GroupLimits {
	readonly memoryBytes: number;
	/** Maximum number of processes and threads combined. */
	readonly tasks: number;
}

/** Time allowed for killed processes to leave their group, in milliseconds. */
const leaveMs = 2000;

/**
 * A control group for a single program. The kernel charges it for all memory, including kernel memory used on behalf of
 * the program, and kills its processes at the limit, no matter how fast they grow or how often they fork.
 */
export class ControlGroup {
	readonly folder: string;
	/**
	 * File descriptor that is open for writing. A process that writes 0 to it moves itself into the group. Permission is
	 * tied to the open file, so it also applies to a program that root starts as a different user.
	 */
	readonly descriptor: number;
	#isOpen = true;

	/** Creates the group. Throws file system errors. */
	constructor(folder: string, limits: GroupLimits) {
		this.folder = folder;
		mkdirSync(folder);
		try {
			this.#write('memory.max', limits.memoryBytes);
			this.#write('pids.max', limits.tasks);
			try {
				this.#write('memory.swap.max', 0);
			} catch {
				// A kernel that does not swap has no such file.
			}
			this.descriptor = openSync(join(folder, 'cgroup.procs'), 'w');
		} catch (error) {
			rmdirSync(folder);
			throw error;
		}
	}

	#write(name: string, value: number): void {
		writeFileSync(join(this.folder, name), String(value), { flag: 'r+' });
	}

	/** Called when the program has started and inherited the descriptor, so this process can close its own. */
	handedOn(): void {
		if (this.#isOpen) closeSync(this.descriptor);
		this.#isOpen = false;
	}

	/**
	 * Returns the memory charged to the group, including kernel memory for its pipes, files and page tables, but not its
	 * file contents: its file systems have a fixed size, and the kernel drops other cached files when memory is low.
	 */
	usedMb(): number {
		const read = (name: string) => readFileSync(join(this.folder, name), 'latin1');
		try {
			const files = Number(/^file (\d+)/m.exec(read('memory.stat'))?.[1] ?? 0);
			return Math.max(0, Number(read('memory.current')) - files) / 1e6;
		} catch {
			return 0;
		}
	}

	/** Returns whether the kernel killed a process in the group because of its memory usage. */
	exceededMemory(): boolean {
		try {
			const events = readFileSync(join(this.folder, 'memory.events'), 'latin1');
			return Number(/^oom_kill (\d+)/m.exec(events)?.[1] ?? 0) > 0;
		} catch {
			return false;
		}
	}

	/** Kills all remaining processes in the group and removes it. */
	async end(): Promise<void> {
		this.handedOn();
		await endGroup(this.folder);
	}
}

/** Kills all processes in a group and removes it. @returns whether it was removed */
export async function endGroup(folder: string): Promise<boolean> {
	for (const end = performance.now() + leaveMs; ; ) {
		const failure = await rmdir(folder).then(
			() => null,
			(error: NodeJS.ErrnoException) => error.code,
		);
		if (failure === null || failure === 'ENOENT') return true;
		if (failure !== 'EBUSY' || performance.now() > end) return false;
		await killAll(folder);
		await new Promise((resolve) => setTimeout(resolve, 2));
	}
}

async function killAll(folder: string): Promise<void> {
	try {
		await writeFile(join(folder, 'cgroup.kill'), '1', { flag: 'r+' });
	} catch {
		// Before Linux 5.14, processes must be killed one by one, repeatedly, until none are left.
		const processes = await readFile(join(folder, 'cgroup.procs'), 'latin1').catch(() => '');
		for (const pid of processes.split('\n').map(Number)) {
			try {
				// PID 0 refers to a process outside this PID namespace. Killing it would kill this process's own group.
				if (pid > 0) process.kill(pid, 'SIGKILL');
			} catch {
				// It has already exited.
			}
		}
	}
}
