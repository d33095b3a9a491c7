/**
 * Runs child processes for the scripts, with output to a log file, a time limit, and termination of the whole process
 * group.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { root } from './paths.ts';

export interface RunOptions {
	readonly cwd?: string;
	readonly env?: Readonly<Record<string, string | undefined>>;
	/** Log file that receives standard output and error instead of this terminal. */
	readonly log?: string;
	/** Whether standard output goes to this terminal even if `log` receives standard error. */
	readonly showOutput?: boolean;
	readonly timeoutSeconds?: number;
	/** Aborting this signal stops the command. */
	readonly signal?: AbortSignal;
	readonly onStart?: (pid: number) => void;
}

/** Returns a command's exit code: 124 after a timeout, 127 if it could not be started. */
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

/** Runs a command in this terminal, which handles Ctrl+C itself. Resolves with its exit code. */
export function attached(command: string, args: readonly string[], cwd?: string): Promise<number> {
	const child = spawn(command, args, { stdio: 'inherit', cwd });
	// The terminal also sends Ctrl+C to the child, where a second signal would mean "stop immediately".
	const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
	process.on('SIGINT', () => onTerminal || child.kill('SIGINT'));
	for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal));
	return new Promise((resolve) => {
		child.once('error', () => resolve(127));
		child.once('exit', (code) => resolve(code ?? 1));
	});
}

/** Asks a child and its descendants to exit, and kills them after five seconds. */
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
 * Returns the ids and command lines of processes whose environment or command line refers to a path inside `folder`
 * (Linux). A process whose TMPDIR is in the folder passes it to all its descendants, even detached ones.
 */
export function processesIn(folder: string): Map<number, string> {
	const found = new Map<number, string>();
	for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
		const pid = Number(name);
		if (!Number.isInteger(pid) || pid === process.pid) continue;
		try {
			const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
			// A zombie has neither.
			if (command === '') continue;
			const environment = readFileSync(`/proc/${name}/environ`, 'latin1');
			if (command.includes(`${folder}/`) || environment.includes(folder)) found.set(pid, command);
		} catch {
			// It has exited.
		}
	}
	return found;
}

/**
 * Tracks the processes found by `processesIn` and their descendants, which may have overwritten their environment and
 * command line (browser pages, parts of Ray). Processes are remembered once seen, because ownership is unknown after a
 * parent exits.
 */
export class ProcessFamily {
	readonly #folder: string;
	readonly #known = new Map<number, { readonly command: string; readonly started: string }>();

	constructor(folder: string) {
		this.#folder = folder;
	}

	/**
	 * Scans for processes. @returns ids and command lines of running processes in the family, including those seen
	 * earlier
	 */
	look(): Map<number, string> {
		const running = new Map<number, { parent: number; started: string; command: string }>();
		for (const name of existsSync('/proc') ? readdirSync('/proc') : []) {
			if (!/^\d+$/.test(name)) continue;
			try {
				const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
				// Fields from the third one on, after the name in parentheses: state, parent, ..., start time (22nd).
				const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
				const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
				// A zombie has no command line.
				if (command === '') continue;
				running.set(Number(name), { parent: Number(fields[1]), started: fields[19] ?? '', command });
			} catch {
				// It has ended.
			}
		}
		const own = processesIn(this.#folder);
		const belongs = (pid: number): boolean => {
			const found = running.get(pid);
			if (found === undefined || pid === process.pid) return false;
			return own.has(pid) || this.#known.get(pid)?.started === found.started || belongs(found.parent);
		};
		const living = [...running].filter(([pid]) => belongs(pid));
		for (const [pid, { command, started }] of living) this.#known.set(pid, { command, started });
		return new Map(living.map(([pid, { command }]) => [pid, command]));
	}

	/**
	 * Kills the remaining processes and returns their command lines. Waits first, so that processes that exit with their
	 * parent have time to notice.
	 */
	async end(graceSeconds = 10): Promise<string[]> {
		const deadline = Date.now() + graceSeconds * 1000;
		while (this.look().size > 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 100));
		return this.endAtOnce();
	}

	endAtOnce(): string[] {
		const left = this.look();
		for (const pid of left.keys()) {
			try {
				process.kill(pid, 'SIGKILL');
			} catch {
				left.delete(pid); // exited in the meantime
			}
		}
		return [...left.values()];
	}
}

/** Returns the last lines of a log file for messages, or an empty string if there is none. */
export function tail(path: string, lines = 40): string {
	try {
		return readFileSync(path, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
	} catch {
		return '';
	}
}
