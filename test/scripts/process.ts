/** Child processes of the scripts: output to a log file, a time limit, and the whole process group ended with them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { root } from './paths.ts';

export interface RunOptions {
	readonly cwd?: string;
	readonly env?: Readonly<Record<string, string | undefined>>;
	/** Standard output and error go here instead of this terminal. */
	readonly log?: string;
	/** Standard output stays on this terminal though `log` takes standard error. */
	readonly showOutput?: boolean;
	readonly timeoutSeconds?: number;
	/** Ends the command when it is aborted. */
	readonly signal?: AbortSignal;
	readonly onStart?: (pid: number) => void;
}

/** Exit code of a command; 124 when it was ended because of its time limit, 127 when it could not be started. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<number> {
	const log = options.log === undefined ? undefined : openLog(options.log);
	try {
		const child = spawn(command, args, {
			cwd: options.cwd ?? root,
			env: { ...process.env, ...options.env },
			stdio: ['ignore', log === undefined || options.showOutput ? 'inherit' : log, log ?? 'inherit'],
			detached: process.platform !== 'win32',
		});
		if (child.pid !== undefined) options.onStart?.(child.pid);
		return await ended(child, options.timeoutSeconds, options.signal);
	} finally {
		if (log !== undefined) closeSync(log);
	}
}

function openLog(path: string): number {
	mkdirSync(dirname(path), { recursive: true });
	return openSync(path, 'a');
}

function ended(child: ChildProcess, timeoutSeconds?: number, signal?: AbortSignal): Promise<number> {
	return new Promise((resolve) => {
		let timedOut = false;
		const timer =
			timeoutSeconds === undefined
				? undefined
				: setTimeout(() => {
						timedOut = true;
						endGroup(child);
					}, timeoutSeconds * 1000);
		const interrupt = () => endGroup(child);
		process.once('SIGINT', interrupt);
		process.once('SIGTERM', interrupt);
		signal?.addEventListener('abort', interrupt, { once: true });
		const finish = (code: number) => {
			clearTimeout(timer);
			process.off('SIGINT', interrupt);
			process.off('SIGTERM', interrupt);
			signal?.removeEventListener('abort', interrupt);
			resolve(timedOut ? 124 : code);
		};
		child.once('error', () => finish(127));
		child.once('exit', (code) => finish(code ?? 1));
	});
}

/** Runs a command on this terminal, which handles Ctrl+C itself; resolves to its exit code. */
export function attached(command: string, args: readonly string[], cwd?: string): Promise<number> {
	const child = spawn(command, args, { stdio: 'inherit', cwd });
	// The terminal sends it to the child as well, and a second one would mean "at once".
	const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
	process.on('SIGINT', () => onTerminal || child.kill('SIGINT'));
	for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
	return new Promise((resolve) => {
		child.once('error', () => resolve(127));
		child.once('exit', (code) => resolve(code ?? 1));
	});
}

/** Asks a child and what it started to end, and insists after five seconds. */
export function endGroup(child: ChildProcess): void {
	const send = (signal: NodeJS.Signals) => {
		if (child.pid === undefined) return;
		try {
			if (process.platform === 'win32') child.kill(signal);
			else process.kill(-child.pid, signal);
		} catch {
			// It has ended already.
		}
	};
	send('SIGTERM');
	setTimeout(() => send('SIGKILL'), 5000).unref();
}

/**
 * Processes whose environment or command line names something inside `folder`: their ids and command lines (Linux). What
 * has TMPDIR there hands it on to everything that it starts, however detached.
 */
export function processesIn(folder: string): Map<number, string> {
	const found = new Map<number, string>();
	for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
		const pid = Number(name);
		if (!Number.isInteger(pid) || pid === process.pid) continue;
		try {
			const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
			// One that has ended and is not yet waited for has neither.
			if (command === '') continue;
			const environment = readFileSync(`/proc/${name}/environ`, 'latin1');
			if (command.includes(`${folder}/`) || environment.includes(folder)) found.set(pid, command);
		} catch {
			// It has ended by itself.
		}
	}
	return found;
}

/**
 * Ends the processes that `processesIn` finds, and returns their command lines. What ends with its parent is given the time
 * to notice that the parent has ended.
 */
export async function endProcessesIn(folder: string, graceSeconds = 10): Promise<string[]> {
	const deadline = Date.now() + graceSeconds * 1000;
	while (processesIn(folder).size > 0 && Date.now() < deadline)
		await new Promise((resolve) => setTimeout(resolve, 100));
	const left = processesIn(folder);
	for (const pid of left.keys()) {
		try {
			process.kill(pid, 'SIGKILL');
		} catch {
			left.delete(pid); // in between
		}
	}
	return [...left.values()];
}

/** The last lines of a log file, for messages; empty where there is none. */
export function tail(path: string, lines = 40): string {
	try {
		return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
	} catch {
		return '';
	}
}
