import { spawn } from 'node:child_process';
import { mkdtemp, open, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/paths.ts';

/** A script to run with the tests' Python, which has torch, Transformers and TRL. */
export interface PythonScript {
	readonly python: string;
	/** Path of a script, or the name of a module to run like `python -m`. */
	readonly script: string | { readonly module: string };
	readonly args?: readonly string[];
	readonly input?: string;
	/** Additional environment variables. */
	readonly env?: Readonly<Record<string, string>>;
}

export interface PythonExit {
	/** Exit status, or the negative number of the signal that ended the process. */
	readonly status: number;
	readonly stdout: string;
	readonly stderr: string;
}

export interface PythonProcess {
	readonly exit: Promise<PythonExit>;
	/** Returns everything printed so far to both outputs. */
	output(): Promise<string>;
	/** Stops the process and waits for it to exit. */
	end(): Promise<void>;
}

/** Environment that the shared process read when it loaded the packages. Scripts use the same one. */
export const loadedEnvironment = {
	OMP_NUM_THREADS: '1',
	HF_HUB_OFFLINE: '1',
	TRANSFORMERS_OFFLINE: '1',
	HF_HUB_DISABLE_TELEMETRY: '1',
	TRL_EXPERIMENTAL_SILENCE: '1',
};

/**
 * Runs a script in a fork of a Python process that has the packages loaded and is shared between test files. Without
 * such a process, starts a separate Python.
 */
export async function startPython(options: PythonScript): Promise<PythonProcess> {
	const folder = await mkdtemp(join(tmpdir(), 'ps-'));
	const output = join(folder, 'out');
	const server = process.env.TEST_LOADED_PYTHON;
	const { ended, end } =
		server === undefined ? await own(options, output) : shared(join(server, 'plain'), options, output);
	const text = (path: string) => readFile(path, 'utf8').catch(() => '');
	const exit = ended
		.then(async (status) => ({ status, stdout: await text(output), stderr: await text(`${output}.err`) }))
		.finally(() => rm(folder, { recursive: true, force: true }));
	exit.catch(() => undefined);
	return {
		exit,
		output: async () => `${await text(output)}${await text(`${output}.err`)}`,
		end: async () => {
			end();
			await exit.catch(() => undefined);
		},
	};
}

/**
 * Returns a Python for training runs that forks trainers from the process that has their packages loaded, which saves
 * five seconds of CPU time each (see forked_python.py). Without such a process, returns the given Python.
 */
export function forkingPython(python: string): string {
	const folder = process.env.TEST_LOADED_PYTHON;
	return folder === undefined ? python : join(folder, 'python', 'python');
}

/** Runs a script and waits for it. Throws unless it exits with status 0. @returns standard output */
export async function runPython(options: PythonScript): Promise<string> {
	const { status, stdout, stderr } = await (await startPython(options)).exit;
	const { script } = options;
	if (status !== 0) throw new Error(`${JSON.stringify(script)} ended with status ${status}:\n${stdout}\n${stderr}`);
	return stdout;
}

interface Started {
	readonly ended: Promise<number>;
	readonly end: () => void;
}

function environmentOf({ env = {} }: PythonScript): Record<string, string | undefined> {
	return { ...process.env, ...loadedEnvironment, ...env };
}

async function own(options: PythonScript, output: string): Promise<Started> {
	const { python, script, args = [], input = '' } = options;
	const files = await Promise.all([output, `${output}.err`].map((path) => open(path, 'w')));
	const [out, errors] = files.map(({ fd }) => fd) as [number, number];
	const child = spawn(python, [...(typeof script === 'string' ? [script] : ['-m', script.module]), ...args], {
		cwd: root,
		env: environmentOf(options),
		stdio: ['pipe', out, errors],
	});
	child.stdin?.on('error', () => undefined).end(input);
	const ended = new Promise<number>((resolve, reject) => {
		child.once('error', reject);
		child.once('exit', (code) => resolve(code ?? -1));
	}).finally(() => Promise.all(files.map((file) => file.close())));
	return { ended, end: () => void child.kill('SIGKILL') };
}

function shared(server: string, options: PythonScript, output: string): Started {
	const { script, args = [], input = '' } = options;
	const what = typeof script === 'string' ? { script } : script;
	const request = { ...what, args, cwd: root, env: environmentOf(options), input, output };
	const socket = connect(server);
	const ended = new Promise<number>((resolve, reject) => {
		let text = '';
		socket.setEncoding('utf8').on('data', (more: string) => {
			text += more;
		});
		socket.once('error', reject);
		socket.once('close', () => {
			if (text.endsWith('\n')) resolve((JSON.parse(text) as { status: number }).status);
			else reject(new Error('The shared Python process exited, or the script was killed'));
		});
	});
	socket.write(`${JSON.stringify(request)}\n`);
	return { ended, end: () => socket.destroy() };
}
