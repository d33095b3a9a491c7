import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../../base/failure.ts';
import { shutDescriptors } from '../../processes/inheritedDescriptors.ts';
import { isAlive, readProcessTree, type TreeUse } from '../../processes/procfs.ts';
import type { ControlGroup } from './controlGroup.ts';
import type { SandboxEnd, SandboxLimits, SandboxOutcome, SandboxProcess } from './sandbox.ts';

export interface SupervisedProgram {
	readonly program: string;
	readonly args: readonly string[];
	readonly environment: Readonly<Record<string, string>>;
	readonly folder: string;
	/** User and group to run as. Only root can set this. */
	readonly user?: number;
	/** Control group in which the program runs under kernel limits. Removed when the program ends. */
	readonly group?: ControlGroup | undefined;
	/** Data that the program can read from file descriptors 4, 5, and so on, or starting at 5 if it has a group. */
	readonly data?: readonly Buffer[];
	/** File descriptors that this process inherited and would otherwise pass on. See `inheritedDescriptors`. */
	readonly inherited?: readonly number[];
	/**
	 * Whether file descriptor 3 reports a successful start with a line `"exit-code": n`. Without that line, the sandbox
	 * failed to start.
	 */
	readonly reportsStart?: boolean;
	/** Whether the program has its own network namespace, whose sockets count as memory. */
	readonly ownNetwork?: boolean;
	/** Called after the first process in the sandbox has ended, with its PID as seen from outside. */
	readonly onFirst?: (pid: number) => void;
	/** Number of tasks that belong to the sandbox itself and do not count toward limits. */
	readonly ownTasks?: number;
	/**
	 * Called to stop anything that runs outside this process tree, such as the processes that a container engine started.
	 */
	readonly onKill?: () => void;
	/** Called after the program has ended, to clean up. */
	readonly onEnd?: () => Promise<void>;
	/** Name used in the error message if the program fails to start, such as "bubblewrap". */
	readonly name: string;
}

/**
 * Moves the process into the control group of a file descriptor before executing the program, so the program never runs
 * outside the group.
 */
const enterGroup = ['-c', 'echo 0 >&4 && exec "$@" 4>&-', 'sh'];

const firstLookMs = 5;
const lookMs = 20;
/** Time allowed for a sandbox to end before its processes are killed one by one, in milliseconds. */
const graceMs = 100;
/** Delay between the end of the program and the closing of any pipes that are still open, in milliseconds. */
const lingerMs = 300;

/**
 * Starts a program and kills it with all its descendants as soon as it exceeds a limit. The program's launcher sets the
 * kernel's per-process limits. This function enforces wall-clock time and the limits that apply to the whole process
 * tree.
 */
export function superviseProcess(what: SupervisedProgram, limits: SandboxLimits, signal?: AbortSignal): SandboxProcess {
	const started = performance.now();
	const { group } = what;
	const child = startProgram(what);
	let end: SandboxEnd | null = null;
	let ended = false;
	const seen = new PeakUse(what, limits);
	let written = 0;
	let grace: NodeJS.Timeout | undefined;

	const readTree = () =>
		child.pid === undefined || process.platform !== 'linux' ? null : readProcessTree(child.pid, what.ownNetwork);
	const stop = (why: SandboxEnd) => {
		if (ended || end !== null) return;
		end = why;
		// The last check may have been before the sandbox was set up.
		const use = readTree();
		if (use !== null) seen.processes = use.processes;
		const first = what.reportsStart ? seen.processes[1] : undefined;
		// The process outside the sandbox reaps the first process inside, whose exit kills all others. Without the outer
		// process, there may be nothing to reap them.
		if (first !== undefined && killOne(first)) grace = setTimeout(() => killTree(child, seen.processes), graceMs);
		else killTree(child, seen.processes);
		what.onKill?.();
	};

	const { stdin, stdout, stderr } = child as ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable };
	// A program that does not read its input closes the pipe.
	stdin.on('error', () => undefined);
	for (const stream of [stdout, stderr]) {
		stream.on('error', () => undefined);
		stream.on('data', (chunk: Buffer) => {
			written += chunk.length;
			if (written > limits.outputBytes) stop('output');
		});
	}
	const complaint = collected(stderr, 2000);
	const report = collected(child.stdio[3] as Readable | null | undefined, 10_000);

	const wall = setTimeout(() => stop('wall'), limits.wallMs);
	let look: NodeJS.Timeout | undefined;
	const watch = () => {
		const use = readTree();
		if (use !== null) {
			const beyond = seen.add(use);
			if (beyond !== null) stop(beyond);
			// Kill processes created between the last check and the end.
			if (end !== null && grace === undefined) killTree(child, seen.processes);
		}
		look = setTimeout(watch, lookMs);
	};
	if (process.platform === 'linux') look = setTimeout(watch, firstLookMs);

	const abort = () => stop('cancelled');
	if (signal?.aborted) queueMicrotask(abort);
	else signal?.addEventListener('abort', abort, { once: true });

	const outcome = new Promise<SandboxOutcome>((resolve, reject) => {
		let exit: { readonly code: number | null; readonly signal: string | null } | null = null;
		let linger: NodeJS.Timeout | undefined;
		const finish = async (failure?: Failure) => {
			if (ended) return;
			ended = true;
			clearTimeout(wall);
			clearTimeout(look);
			clearTimeout(linger);
			clearTimeout(grace);
			signal?.removeEventListener('abort', abort);
			killTree(child, seen.processes);
			const first = Number(/"child-pid": *(\d+)/.exec(report())?.[1] ?? Number.NaN);
			if (first > 1) {
				await gone(first);
				what.onFirst?.(first);
			}
			// The kernel may have killed a process before a check noticed it.
			if (end === null && group?.exceededMemory()) end = 'memory';
			await group?.end().catch(() => undefined);
			await what.onEnd?.().catch(() => undefined);
			const { code, signal: bySignal } = exit ?? { code: null, signal: null };
			if (failure !== undefined) reject(failure);
			else if (end === null && what.reportsStart && !report().includes('"exit-code"')) {
				const words = complaint().trim().split('\n').at(-1) ?? '';
				reject(notStarted(what.name, words || `it exited with code ${code ?? bySignal}`));
			} else {
				const how = ending(end, code, bySignal, seen.cpuSeconds, limits);
				resolve({ ...how, ...seen.peaks, durationMs: performance.now() - started });
			}
		};
		child.once('error', (error) => void finish(notStarted(what.name, error.message)));
		child.once('exit', (code, exitSignal) => {
			exit = { code, signal: exitSignal };
			linger = setTimeout(() => {
				for (const stream of [stdout, stderr]) stream.destroy();
				void finish();
			}, lingerMs);
		});
		child.once('close', () => void finish());
	});
	// Callers that only use the streams do not have to handle the outcome.
	outcome.catch(() => undefined);
	return { stdin, stdout, stderr, ended: outcome, kill: () => stop('cancelled') };
}

/** Starts the program with its pipes, and writes its data to them. */
function startProgram(what: SupervisedProgram): ChildProcess {
	const data = what.data ?? [];
	const { group } = what;
	const stdio: StdioOptions & unknown[] = ['pipe', 'pipe', 'pipe', what.reportsStart ? 'pipe' : 'ignore'];
	if (group !== undefined) stdio.push(group.descriptor);
	const firstData = stdio.length;
	for (const _ of data) stdio.push('pipe');
	const closed = shutDescriptors(stdio, what.inherited ?? []);
	let child: ChildProcess;
	try {
		const args = group === undefined ? what.args : [...enterGroup, what.program, ...what.args];
		child = spawn(group === undefined ? what.program : '/bin/sh', [...args], {
			cwd: what.folder,
			env: { ...what.environment },
			detached: true,
			windowsHide: true,
			stdio,
			...(what.user === undefined ? {} : { uid: what.user, gid: what.user }),
		});
	} catch (error) {
		void group?.end();
		throw error;
	} finally {
		closed();
		group?.handedOn();
	}
	data.forEach((bytes, i) => {
		const pipe = child.stdio[firstData + i] as Writable | null | undefined;
		pipe?.on('error', () => undefined);
		pipe?.end(bytes);
	});
	return child;
}

/** Returns a function that returns a stream's output so far, up to approximately `limit` bytes. */
function collected(stream: Readable | null | undefined, limit: number): () => string {
	let text = '';
	stream?.on('error', () => undefined);
	stream?.on('data', (chunk: Buffer) => {
		if (text.length < limit) text += chunk.toString('latin1');
	});
	return () => text;
}

/** Current and peak resource usage of the program and its descendants. */
class PeakUse {
	peaks = { peakMemoryMb: 0, peakProcesses: 0 };
	cpuSeconds = 0;
	/** Process IDs at the last check. */
	processes: readonly number[] = [];
	readonly #what: SupervisedProgram;
	readonly #limits: SandboxLimits;

	constructor(what: SupervisedProgram, limits: SandboxLimits) {
		this.#what = what;
		this.#limits = limits;
	}

	/** @returns the limit that is exceeded, if any */
	add(use: TreeUse): SandboxEnd | null {
		const { group, ownTasks = 0 } = this.#what;
		const limits = this.#limits;
		this.processes = use.processes;
		const tasks = Math.max(0, use.tasks - ownTasks);
		const memoryMb = Math.max(use.memoryMb, group?.usedMb() ?? 0);
		this.peaks = {
			peakMemoryMb: Math.max(this.peaks.peakMemoryMb, memoryMb),
			peakProcesses: Math.max(this.peaks.peakProcesses, tasks),
		};
		this.cpuSeconds = Math.max(this.cpuSeconds, use.cpuSeconds);
		if (tasks > limits.processes) return 'processes';
		if (memoryMb > limits.memoryMb || group?.exceededMemory()) return 'memory';
		return use.cpuSeconds > limits.cpuSeconds ? 'cpu' : null;
	}
}

/**
 * Waits for the first process in the sandbox to exit, which it does shortly after the outside process that waits for
 * it. All other processes in the sandbox exit along with it.
 */
async function gone(first: number): Promise<void> {
	for (let look = 0; look < 100 && isAlive(first); look++) {
		await new Promise((resolve) => setTimeout(resolve, look < 10 ? 1 : 10));
	}
}

function notStarted(name: string, words: string): Failure {
	return new Failure('unavailable', `${name} failed to start: ${words.replace(/[.\s]*$/, '')}.`);
}

/** Signals by number. If a signal kills its program, a launcher exits with code 128 + signal. */
const names: Readonly<Record<number, string>> = {
	6: 'SIGABRT',
	9: 'SIGKILL',
	11: 'SIGSEGV',
	24: 'SIGXCPU',
	25: 'SIGXFSZ',
	31: 'SIGSYS',
};

function ending(
	end: SandboxEnd | null,
	code: number | null,
	signal: string | null,
	cpuSeconds: number,
	limits: SandboxLimits,
): Pick<SandboxOutcome, 'end' | 'status' | 'signal'> {
	if (end !== null) return { end, status: null, signal: null };
	const by = signal ?? (code !== null && code > 128 ? names[code - 128] : undefined);
	if (by === undefined) return { end: 'exited', status: code, signal: null };
	const cpu = by === 'SIGXCPU' || (by === 'SIGKILL' && cpuSeconds > limits.cpuSeconds * 0.9);
	return cpu ? { end: 'cpu', status: null, signal: by } : { end: 'signal', status: code, signal: by };
}

/** @returns whether the process existed */
function killOne(pid: number): boolean {
	try {
		return process.kill(pid, 'SIGKILL');
	} catch {
		return false;
	}
}

/** Kills the program's process group, and descendants that have left it. */
function killTree(child: ChildProcess, known: readonly number[]): void {
	if (child.pid === undefined) return;
	if (process.platform === 'win32') {
		child.kill();
		return;
	}
	const running = child.exitCode === null && child.signalCode === null;
	// After the program has been reaped, the PIDs of its descendants can belong to other processes. The program's group
	// ID is not reused while any member remains.
	for (const pid of running ? [-child.pid, ...known] : [-child.pid]) {
		// Ignore processes that have already ended.
		killOne(pid);
	}
}
