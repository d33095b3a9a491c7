import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { Failure } from '../base/failure.ts';
import { ProcessTree } from './processTree.ts';
import { underWatch } from './underWatch.ts';

export interface ProgramOptions {
	/** Changes to this process's environment. undefined removes a variable. */
	readonly environment?: Readonly<Record<string, string | undefined>>;
	readonly cwd?: string;
	/** Time limit, in milliseconds, after which the program and everything it started are killed. Default: none. */
	readonly limitMs?: number;
	readonly signal?: AbortSignal;
	/** Called for each line of stdout and stderr, without the line ending. */
	readonly onLine?: (line: string) => void;
}

export interface ProgramResult {
	/** null if the program was killed by a signal. */
	readonly code: number | null;
	readonly signal: string | null;
	readonly stdout: string;
	/** Tail of stderr. */
	readonly stderr: string;
}

const maxOutput = 4 << 20;

/** Running programs, to kill when the window or shell exits. They share one exit listener. */
const started = new Set<number>();
process.once('exit', () => {
	for (const pid of started) killNow(pid);
});

/**
 * Runs a program to completion. Fails with `unavailable` if it cannot be started, or with `timeout` or `cancelled`
 * after killing everything it started. If this process is killed, so is the program.
 */
export async function runProgram(
	program: string,
	args: readonly string[],
	options: ProgramOptions = {},
): Promise<ProgramResult> {
	const { signal, limitMs, onLine } = options;
	if (signal?.aborted) throw new Failure('cancelled', 'Canceled.');
	const marker = `REASONING_LAB_SETUP=${randomBytes(12).toString('hex')}`;
	const windows = process.platform === 'win32';
	const [command, commandArgs] = windows ? [program, args] : ['/bin/sh', ['-c', underWatch, 'sh', program, ...args]];
	const child = spawn(command, commandArgs, {
		cwd: options.cwd,
		env: { ...environmentWith(options.environment ?? {}), REASONING_LAB_SETUP: marker.split('=')[1] },
		stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
		// Start a new session, so everything the program starts can be killed with it.
		detached: !windows,
		windowsHide: true,
	});
	const tree = child.pid === undefined ? null : new ProcessTree(child.pid, marker);
	// Write end of the watcher's pipe. Once it closes after the program exits, the watcher kills the rest of the group.
	const watched = child.stdio[3] as Writable | null;
	watched?.on('error', () => undefined);
	child.once('exit', () => watched?.destroy());
	let stdout = '';
	let stderr = '';
	child.stdout?.setEncoding('utf8').on('data', (text: string) => {
		if (stdout.length < maxOutput) stdout += text;
	});
	child.stderr?.setEncoding('utf8').on('data', (text: string) => {
		stderr = `${stderr}${text}`.slice(-20_000);
	});
	if (onLine !== undefined)
		for (const stream of [child.stdout, child.stderr]) if (stream !== null) eachLine(stream, onLine);
	let failure: Failure | null = null;
	let killed: Promise<void> | undefined;
	const kill = (why: Failure) => {
		failure ??= why;
		killed ??= tree?.kill();
	};
	const cancel = () => kill(new Failure('cancelled', 'Canceled.'));
	signal?.addEventListener('abort', cancel, { once: true });
	if (child.pid !== undefined) started.add(child.pid);
	const timer =
		limitMs === undefined
			? undefined
			: setTimeout(() => kill(new Failure('timeout', `${program} took longer than ${limitMs / 1000} s.`)), limitMs);
	try {
		return await new Promise<ProgramResult>((resolve, reject) => {
			child.once('error', (error) => reject(notStarted(program, error.message)));
			child.once('close', (code, name) => {
				void Promise.resolve(killed).then(() => {
					if (failure === null && !windows && isNotStarted(code, stderr)) failure = notStarted(program, stderr);
					if (failure === null) resolve({ code, signal: name, stdout, stderr });
					else reject(failure);
				});
			});
		});
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener('abort', cancel);
		if (child.pid !== undefined) started.delete(child.pid);
	}
}

/** Returns whether the shell failed to run the program, judging by its exit status and a single line on stderr. */
const isNotStarted = (code: number | null, stderr: string): boolean =>
	(code === 126 || code === 127) && /^sh: [^\n]*\n?$/.test(stderr);

const notStarted = (program: string, why: string): Failure =>
	new Failure('unavailable', `Cannot start ${program}: ${why.trim().replace(/\.$/, '')}.`);

/**
 * Returns this process's environment for a Python program, without variables that point to another Python environment.
 */
export function environmentWith(changes: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
	const {
		PYTHONHOME: _home,
		PYTHONPATH: _path,
		PYTHONSTARTUP: _startup,
		VIRTUAL_ENV: _virtual,
		CONDA_PREFIX: _conda,
		__PYVENV_LAUNCHER__: _launcher,
		NODE_OPTIONS: _node,
		ELECTRON_RUN_AS_NODE: _electron,
		...rest
	} = process.env;
	return { ...rest, PYTHONIOENCODING: 'utf-8', ...changes };
}

function eachLine(input: Readable, onLine: (line: string) => void): void {
	createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY }).on('line', onLine);
}

function killNow(pid: number): void {
	try {
		process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
	} catch {
		// Already exited.
	}
}
