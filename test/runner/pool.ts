/** Runs test files in worker processes. Idle workers are reused and hung ones are killed. */
import { type ChildProcess, fork } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endGroup } from '../scripts/process.ts';
import type { FileRequest, Outcome, Usage, WorkerMessage } from './outcome.ts';

export interface FileResult {
	readonly outcomes: readonly Outcome[];
	/** Undefined if the worker died. */
	readonly usage: Usage | undefined;
	readonly seconds: number;
	/** Output of the file and its processes, shown on failure. */
	readonly output: string;
}

export interface PoolOptions {
	/** Folder for worker logs. */
	readonly logs: string;
	/** Base name of the logs. */
	readonly name: string;
	/** Returns the variables added to this process's environment. Called when a worker starts. */
	readonly env: () => Readonly<Record<string, string | undefined>>;
	/** Runs only tests whose full name matches. */
	readonly namePattern: string | undefined;
	/** Whether files apply the pattern themselves. Default: false. */
	readonly filtersTests?: boolean;
	/** Whether workers print to this terminal instead of a log. */
	readonly showOutput: boolean;
	/**
	 * Grace period after a file's own timeout, which its worker enforces, before the worker is killed. Default: 20
	 * seconds.
	 */
	readonly graceMs?: number;
	/**
	 * Time that resources opened by a file may take to close after its last test. `fetch` keeps connections for four
	 * seconds.
	 */
	readonly closingMs?: number;
}

/** Memory limit above which a worker is not reused. */
const maxMemoryBytes = 1 << 30;

interface Worker {
	readonly child: ChildProcess;
	readonly log: string;
	readonly exited: Promise<number | null>;
	take: (message: WorkerMessage) => void;
}

export class WorkerPool {
	readonly #options: PoolOptions;
	readonly #idle: Worker[] = [];
	readonly #all = new Set<Worker>();
	#started = 0;

	constructor(options: PoolOptions) {
		this.#options = options;
	}

	/** @param alone whether to use a process that runs no other file */
	async runFile(file: string, timeoutSeconds: number, alone: boolean): Promise<FileResult> {
		const worker = (alone ? undefined : this.#idle.pop()) ?? (await this.#start());
		const outcomes: Outcome[] = [];
		const logStart = sizeOf(worker.log);
		const startTime = performance.now();
		let memory = Number.POSITIVE_INFINITY;
		let usage: Usage | undefined;
		let timer: NodeJS.Timeout | undefined;
		const finished = new Promise<'finished'>((resolve) => {
			worker.take = (message) => {
				if (message.type === 'outcome') {
					outcomes.push(message.outcome);
				} else if (message.type === 'file') {
					({ usage, memory } = message);
					resolve('finished');
				}
			};
		});
		const late = new Promise<'late'>((resolve) => {
			timer = setTimeout(() => resolve('late'), timeoutSeconds * 1000 + (this.#options.graceMs ?? 20_000));
		});
		worker.child.send({
			file,
			timeoutMs: timeoutSeconds * 1000,
			closingMs: this.#options.closingMs ?? 8000,
		} satisfies FileRequest);
		const end = await Promise.race([finished, late, worker.exited.then(() => 'exited' as const)]);
		clearTimeout(timer);
		const seconds = (performance.now() - startTime) / 1000;
		if (end === 'finished') {
			const chosen = this.#options.namePattern !== undefined;
			if (outcomes.length === 0 && !chosen) outcomes.push(fileFailure('The file has no test', seconds));
			// Processes that a failed test left running must not affect the next file.
			const failed = outcomes.some(({ status }) => status === 'failed');
			// After a file without matching tests, node:test reports nothing about later files in the same process.
			if (!alone && !chosen && !failed && memory < maxMemoryBytes) this.#idle.push(worker);
			else await this.#retire(worker);
		} else {
			const why =
				end === 'late'
					? `The file did not end within ${timeoutSeconds} s and did not answer: its process was ended`
					: `The process of the file ended before its tests did (exit status ${worker.child.exitCode}, signal ${worker.child.signalCode})`;
			outcomes.push(fileFailure(why, seconds));
			endGroup(worker.child);
			await worker.exited;
		}
		return { outcomes, usage, seconds, output: textFrom(worker.log, logStart) };
	}

	/** Stops all workers. Those running a file are killed together with everything they started. */
	async dispose(): Promise<void> {
		for (const worker of [...this.#all]) {
			if (this.#idle.includes(worker)) void this.#retire(worker);
			else endGroup(worker.child);
		}
		await Promise.all([...this.#all].map(({ exited }) => exited));
	}

	async #retire(worker: Worker): Promise<void> {
		worker.child.disconnect();
		const timer = setTimeout(() => endGroup(worker.child), 5000);
		await worker.exited;
		clearTimeout(timer);
	}

	async #start(): Promise<Worker> {
		const { namePattern, filtersTests = false, env, logs, name, showOutput } = this.#options;
		const log = join(logs, `${name}-${++this.#started}.log`);
		const descriptor = openSync(log, 'w');
		const child = fork(join(import.meta.dirname, 'worker.ts'), [], {
			execArgv: [
				`--test-reporter=${join(import.meta.dirname, 'workerReporter.ts')}`,
				...(namePattern === undefined || filtersTests ? [] : [`--test-name-pattern=${namePattern}`]),
			],
			// Under `node --test`, the worker's reporter would otherwise be replaced by the parent process's.
			env: { ...process.env, ...env(), TEST_NAME_PATTERN: namePattern, NODE_TEST_CONTEXT: undefined },
			stdio: ['ignore', showOutput ? 'inherit' : descriptor, showOutput ? 'inherit' : descriptor, 'ipc'],
			detached: process.platform !== 'win32',
		});
		closeSync(descriptor);
		const exited = new Promise<number | null>((resolve) => {
			child.once('exit', (code) => resolve(code));
			child.once('error', () => resolve(null));
		});
		const worker: Worker = { child, log, exited, take: () => undefined };
		this.#all.add(worker);
		void exited.then(() => this.#all.delete(worker));
		const ready = new Promise<void>((resolve) => {
			worker.take = (message) => message.type === 'ready' && resolve();
		});
		child.on('message', (message: WorkerMessage) => worker.take(message));
		await Promise.race([ready, exited]);
		return worker;
	}
}

function fileFailure(message: string, seconds: number): Outcome {
	return { name: 'the file', status: 'failed', milliseconds: seconds * 1000, failure: { message, stack: '' } };
}

function sizeOf(path: string): number {
	const descriptor = openSync(path, 'r');
	const { size } = fstatSync(descriptor);
	closeSync(descriptor);
	return size;
}

function textFrom(path: string, start: number): string {
	return readFileSync(path).subarray(start).toString();
}
