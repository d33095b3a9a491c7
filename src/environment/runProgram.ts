import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { Failure } from '../base/failure.ts';
import { ProcessTree } from '../rewards/processTree.ts';

export interface ProgramOptions {
	/** Changes of this process's environment; undefined: without it. */
	readonly environment?: Readonly<Record<string, string | undefined>>;
	readonly cwd?: string;
	/** It and all that it has started are ended after so long, in milliseconds; default: never. */
	readonly limitMs?: number;
	readonly signal?: AbortSignal;
	/** Each line of both outputs, without its end. */
	readonly onLine?: (line: string) => void;
}

export interface ProgramResult {
	/** null: it was ended by a signal. */
	readonly code: number | null;
	readonly signal: string | null;
	readonly stdout: string;
	/** The end of it. */
	readonly stderr: string;
}

const mostOutput = 4 << 20;

/**
 * Runs a program to its end. Fails with `unavailable` when it cannot be started, `timeout` and `cancelled`; then nothing that
 * it has started is left.
 */
export async function runProgram(
	program: string,
	args: readonly string[],
	options: ProgramOptions = {},
): Promise<ProgramResult> {
	const { signal, limitMs, onLine } = options;
	if (signal?.aborted) throw new Failure('cancelled', 'Cancelled.');
	const marker = `REASONING_LAB_SETUP=${randomBytes(12).toString('hex')}`;
	const child = spawn(program, args, {
		cwd: options.cwd,
		env: { ...environmentWith(options.environment ?? {}), REASONING_LAB_SETUP: marker.split('=')[1] },
		stdio: ['ignore', 'pipe', 'pipe'],
		// Leads a session, so that all that it starts can be ended with it.
		detached: process.platform !== 'win32',
		windowsHide: true,
	});
	const tree = child.pid === undefined ? null : new ProcessTree(child.pid, marker);
	let stdout = '';
	let stderr = '';
	child.stdout.setEncoding('utf8').on('data', (text: string) => {
		if (stdout.length < mostOutput) stdout += text;
	});
	child.stderr.setEncoding('utf8').on('data', (text: string) => {
		stderr = `${stderr}${text}`.slice(-20_000);
	});
	if (onLine !== undefined) for (const stream of [child.stdout, child.stderr]) eachLine(stream, onLine);
	let failure: Failure | null = null;
	let killed: Promise<void> | undefined;
	const kill = (why: Failure) => {
		failure ??= why;
		killed ??= tree?.kill();
	};
	const cancel = () => kill(new Failure('cancelled', 'Cancelled.'));
	signal?.addEventListener('abort', cancel, { once: true });
	// A window or a shell that ends takes what it has started along.
	const exit = () => tree !== null && killNow(child.pid);
	process.once('exit', exit);
	const timer =
		limitMs === undefined
			? undefined
			: setTimeout(() => kill(new Failure('timeout', `${program} took longer than ${limitMs / 1000} s.`)), limitMs);
	try {
		return await new Promise<ProgramResult>((resolve, reject) => {
			child.once('error', (error) =>
				reject(new Failure('unavailable', `${program} could not be started: ${error.message}.`)),
			);
			child.once('close', (code, name) => {
				void Promise.resolve(killed).then(() => {
					if (failure === null) resolve({ code, signal: name, stdout, stderr });
					else reject(failure);
				});
			});
		});
	} finally {
		clearTimeout(timer);
		signal?.removeEventListener('abort', cancel);
		process.off('exit', exit);
	}
}

/** What a Python program gets of this process's environment: nothing that leads it into another environment. */
function environmentWith(changes: Readonly<Record<string, string | undefined>>): NodeJS.ProcessEnv {
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

function killNow(pid: number | undefined): void {
	if (pid === undefined) return;
	try {
		process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL');
	} catch {
		// It has ended.
	}
}
