import { closeSync, mkdirSync, openSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { readFile, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface GroupLimits {
	readonly memoryBytes: number;
	/** Processes and threads together. */
	readonly tasks: number;
}

/** How long processes that were ended may take to leave their group. */
const leaveMs = 2000;

/**
 * A control group for one program: the kernel charges it for all memory, its own for the program included, and ends what
 * is in there at the limit, however fast that grows and however often it forks.
 */
export class ControlGroup {
	readonly folder: string;
	/**
	 * Open for writing: a process that writes 0 to it moves itself into the group. The right to do so goes with the file, so
	 * that a program which root starts as another user has it too.
	 */
	readonly descriptor: number;
	#isOpen = true;

	/** Makes the group. Throws what the file system says. */
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

	/** The program was started and has the descriptor: this process does without. */
	handedOn(): void {
		if (this.#isOpen) closeSync(this.descriptor);
		this.#isOpen = false;
	}

	/**
	 * Memory that it is charged for, the kernel's own for its pipes, files and page tables included, but not what its files
	 * take: those of its file systems have a size, and the kernel drops others where memory is short.
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

	/** Whether the kernel has ended a process of it for its memory. */
	exceededMemory(): boolean {
		try {
			const events = readFileSync(join(this.folder, 'memory.events'), 'latin1');
			return Number(/^oom_kill (\d+)/m.exec(events)?.[1] ?? 0) > 0;
		} catch {
			return false;
		}
	}

	/** Ends all that is left in it, and removes it. */
	async end(): Promise<void> {
		this.handedOn();
		await endGroup(this.folder);
	}
}

/** Ends all processes of a group and removes it. @returns whether it is gone */
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
		// Before Linux 5.14: one by one, and again until none is left.
		const processes = await readFile(join(folder, 'cgroup.procs'), 'latin1').catch(() => '');
		for (const pid of processes.split('\n').map(Number)) {
			try {
				// 0 is a process that this namespace does not show, and would be this process's own group.
				if (pid > 0) process.kill(pid, 'SIGKILL');
			} catch {
				// It has ended in the meantime.
			}
		}
	}
}
