import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../../base/failure.ts';
import { openToAppend } from '../../files/safeFile.ts';
import { ProcessTree } from '../../processes/processTree.ts';
import { underWatch } from '../../processes/underWatch.ts';
import { trainerEnvironment as names } from '../../protocol/trainerLink.ts';
import { runFiles } from '../../runs/runFiles.ts';
import { readLogFrom } from '../../runs/runReader.ts';

export interface TrainerProcessOptions {
	/** Python interpreter with torch and TRL: a path, or a name on PATH. */
	readonly python: string;
	/** Number of training processes. If there is more than one, torchrun starts them. */
	readonly processes: number;
	/** Folder that contains the reasoning_lab_trainer package. */
	readonly folder: string;
	readonly environment: NodeJS.ProcessEnv;
	/**
	 * Run folder, which holds the trainer's temporary files and receives its output in engine.log, or null to use
	 * standard error and another temporary folder.
	 */
	readonly run: string | null;
}

/**
 * Temporary folder inside the run folder while its trainer is running. In the system's temporary folder, it would be
 * left behind after a kill. Resuming a run removes such folders.
 */
const scratchName = '.trainer.tmp';

export interface TrainerExit {
	readonly code: number | null;
	readonly signal: NodeJS.Signals | null;
	/** Last part of the output. */
	readonly words: string;
}

/** Maximum number of standard error characters kept if there is no log. */
const maxWords = 16 << 10;

/**
 * Runs the rest of the command line in a new process group, like `detached`, but in the same session. Linux gives each
 * session its own share of CPU time, so if the driver were in another session, each of its short tasks would delay a
 * training thread for longer than the task takes.
 */
const inOwnGroup = 'import os, sys; os.setpgid(0, 0); os.execv("/bin/sh", sys.argv[1:])';

/** The trainer as a separate process group. It exits with its driver and leaves no processes behind. */
export class TrainerProcess {
	readonly #child: ChildProcess;
	readonly #tree: ProcessTree;
	readonly #scratch: string | null;
	readonly exit: Promise<TrainerExit>;
	#ended = false;

	private constructor(child: ChildProcess, marker: string, scratch: string | null, words: () => Promise<string>) {
		this.#child = child;
		this.#scratch = scratch;
		this.#tree = new ProcessTree(child.pid as number, marker);
		this.exit = new Promise((resolve) => {
			child.once('exit', (code, signal) => {
				this.#ended = true;
				void words()
					.catch(() => '')
					.then((text) => resolve({ code, signal, words: text }));
			});
		});
	}

	/** Throws `unavailable` if the Python interpreter does not start. */
	static async start(options: TrainerProcessOptions): Promise<TrainerProcess> {
		const { python, processes, folder, environment, run } = options;
		// Processes started by the trainer can leave its process group, so identify them by this environment variable.
		const marker = `REASONING_LAB_TRAINER_GROUP=${randomBytes(12).toString('hex')}`;
		const [name = '', value = ''] = marker.split('=');
		const scratch = run === null ? null : join(run, scratchName);
		if (scratch !== null) await mkdir(scratch, { recursive: true });
		const log = run === null ? null : await openToAppend(join(run, runFiles.log));
		try {
			const start = log === null ? 0 : (await log.stat()).size;
			const output = log === null ? ('pipe' as const) : log.fd;
			const windows = process.platform === 'win32';
			const command = trainerArguments(processes);
			const watched = ['-I', '-S', '-c', inOwnGroup, 'sh', '-c', underWatch, 'sh', python, ...command];
			const child = spawn(python, windows ? command : watched, {
				// Without -P, Python searches its working directory for modules.
				cwd: folder,
				windowsHide: true,
				stdio: ['ignore', output, output, 'pipe'],
				env: { ...environment, ...(scratch === null ? {} : { [names.scratch]: scratch }), [name]: value },
			});
			let said = '';
			for (const stream of [child.stdout, child.stderr]) {
				stream?.setEncoding('utf8').on('data', (text: string) => {
					said = (said + text).slice(-maxWords);
					process.stderr.write(text);
				});
			}
			for (const stream of child.stdio) stream?.on('error', () => undefined);
			await new Promise<void>((resolve, reject) => {
				child.once('spawn', resolve);
				child.once('error', (error: NodeJS.ErrnoException) => reject(cannotStart(python, error)));
			});
			return new TrainerProcess(child, marker, scratch, async () => (run === null ? said : readLogFrom(run, start)));
		} finally {
			await log?.close();
		}
	}

	get pid(): number {
		return this.#child.pid as number;
	}

	/** Waits for the trainer to exit, then kills it with all its child processes. */
	async end(graceMs: number): Promise<void> {
		let timer: NodeJS.Timeout | undefined;
		await Promise.race([
			this.exit,
			new Promise((resolve) => {
				timer = setTimeout(resolve, graceMs);
			}),
		]);
		clearTimeout(timer);
		await this.#tree.kill();
		await this.exit;
		if (this.#scratch !== null) await rm(this.#scratch, { recursive: true, force: true }).catch(() => undefined);
	}

	/** Kills the trainer immediately. */
	kill(): void {
		if (this.#ended) return;
		try {
			process.kill(process.platform === 'win32' ? this.pid : -this.pid, 'SIGKILL');
		} catch {
			// It has exited.
		}
	}
}

function cannotStart(python: string, error: NodeJS.ErrnoException): Failure {
	const why = error.code === 'ENOENT' ? 'not found' : error.message;
	return new Failure(
		'unavailable',
		`Cannot start Python ${python}: ${why}.`,
		'Run Set Up PyTorch Engine, or select another Python interpreter.',
		{ cause: error },
	);
}

function trainerArguments(processes: number): string[] {
	const module = 'reasoning_lab_trainer';
	if (processes === 1) return ['-m', module];
	return ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', String(processes), '-m', module];
}

/**
 * Returns the number of processes that the system killed because of low memory, or null if unknown. Linux with control
 * groups only.
 */
export async function memoryKills(): Promise<number | null> {
	const text = await readFile('/sys/fs/cgroup/memory.events', 'utf8').catch(() => null);
	const count = text === null ? undefined : /^oom_kill (\d+)$/m.exec(text)?.[1];
	return count === undefined ? null : Number(count);
}
