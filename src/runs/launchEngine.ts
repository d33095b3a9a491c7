import { type ChildProcess, spawn } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { openToAppend } from '../files/safeFile.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import type { DeviceGroup } from './deviceQueue.ts';
import { engineOfRun, engineProgram } from './enginePrograms.ts';
import { refuseLinks } from './refuseLinks.ts';
import { runFiles } from './runFiles.ts';
import { readLogFrom, readRecord } from './runReader.ts';

export interface LaunchOptions {
	/**
	 * Path of the embedded engine, dist/engine.js. The other engines are next to it, and the run's recipe determines
	 * which one is used.
	 */
	readonly engine: string;
	/** Whether to continue in place from the newest checkpoint. */
	readonly resume?: boolean;
	/** Checkpoint folder, in another run, to start a new run from. */
	readonly parentCheckpoint?: string;
	/** Node.js executable; default: the one running this process (Electron is switched to Node mode). */
	readonly node?: string;
	/**
	 * Maximum time to wait for run.json to report that the engine is running, in milliseconds; default 120000, or 600000
	 * for PyTorch.
	 */
	readonly waitMs?: number;
	/** Variables added to this process's environment: Python, sandbox, API keys for rewards. */
	readonly environment?: Readonly<Record<string, string>>;
	/** Runs that may use the device at the same time as this one. */
	readonly deviceGroup?: DeviceGroup;
	readonly signal?: AbortSignal;
}

/** Importing PyTorch, loading a large model and queueing on a cluster take time. */
const patience = { embedded: 120_000, pytorch: 600_000, ray: 600_000, foreign: 120_000 } as const;

/**
 * Starts the engine of a prepared run as a separate process that outlives this one, and waits until run.json reports
 * that it is running or waiting for its device. Fails with the engine's own typed error if it exits before that.
 */
export async function launchEngine(run: string, options: LaunchOptions): Promise<RunRecord> {
	const engine = await engineOfRun(run);
	const program = engineProgram(options.engine, engine);
	if (!(await stat(program).catch(() => null))?.isFile()) {
		throw new Failure('missing', `The engine program ${program} does not exist.`, 'Reinstall or rebuild it.');
	}
	const log = await refuseLinks(run)
		.then(() => openToAppend(join(run, runFiles.log)))
		.catch((error: unknown) => {
			throw Failure.from(error, `Cannot write to ${run}`);
		});
	const { deviceGroup: group } = options;
	let child: ChildProcess;
	let logStart: number;
	let ended: Promise<Exit>;
	try {
		logStart = (await log.stat()).size;
		child = spawn(
			options.node ?? process.execPath,
			[
				program,
				'--run',
				run,
				...(options.resume ? ['--resume'] : []),
				...(options.parentCheckpoint === undefined ? [] : ['--parent-checkpoint', options.parentCheckpoint]),
				...(group === undefined ? [] : ['--device-group', `${group.id}:${group.slots}`]),
			],
			{
				cwd: dirname(run),
				detached: true,
				windowsHide: true,
				stdio: ['ignore', log.fd, log.fd],
				env: engineEnvironment({ ...process.env, ...options.environment }),
			},
		);
		ended = exitOf(child);
		// Awaited later; until then, prevent an unhandled rejection.
		ended.catch(() => undefined);
	} finally {
		await log.close();
	}
	child.unref();
	return await waitForEngine(
		run,
		{ pid: child.pid, ended, logStart },
		{ ...options, waitMs: options.waitMs ?? patience[engine] },
	);
}

/** Returns the environment for an engine, based on this process: no debugger, no Electron, no runtime telemetry. */
export function engineEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
	const { NODE_OPTIONS: _, ...rest } = environment;
	return {
		...rest,
		// Must be set before onnxruntime is loaded.
		ORT_DISABLE_TELEMETRY: '1',
		...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
	};
}

interface Exit {
	readonly code: number | null;
	readonly signal: string | null;
}

function exitOf(child: ChildProcess): Promise<Exit> {
	return new Promise((resolve, reject) => {
		child.once('exit', (code, signal) => resolve({ code, signal }));
		child.once('error', (error) => {
			reject(new Failure('unavailable', `Cannot start the engine: ${error.message}.`, undefined, { cause: error }));
		});
	});
}

async function waitForEngine(
	run: string,
	engine: { readonly pid: number | undefined; readonly ended: Promise<Exit>; readonly logStart: number },
	options: LaunchOptions & { readonly waitMs: number },
): Promise<RunRecord> {
	const { ended } = engine;
	let exit: Exit | null = null;
	let failed: unknown = null;
	ended.then(
		(value) => {
			exit = value;
		},
		(error: unknown) => {
			failed = error;
		},
	);
	const deadline = Date.now() + options.waitMs;
	for (;;) {
		if (failed !== null) throw failed;
		// Check this before reading the record, so that the record includes the engine's last write.
		const over = exit as Exit | null;
		const record = await readRecord(run).catch(() => null);
		const ours = record !== null && record.pid === engine.pid;
		if (over !== null) {
			if (ours && over.code === 0) return record;
			throw await whyEnded(run, ours ? record : null, over, engine.logStart);
		}
		if (ours && record.status !== 'starting') {
			if (record.error === undefined) return record;
			// The engine is about to exit and report why.
			await Promise.race([ended.catch(() => undefined), pause(2000)]);
			throw Failure.of(record.error);
		}
		if (options.signal?.aborted)
			throw new Failure('cancelled', 'Waiting for the engine was canceled; it is still starting.');
		if (Date.now() > deadline) {
			throw new Failure('timeout', `The engine for ${run} did not start in time.`, 'See engine.log in the run folder.');
		}
		await Promise.race([pause(50), ended.catch(() => undefined)]);
	}
}

async function whyEnded(run: string, record: RunRecord | null, exit: Exit, logStart: number): Promise<Failure> {
	if (record?.error !== undefined) return Failure.of(record.error);
	const words = lastWords(await readLogFrom(run, logStart));
	// Status 2 means that the engine rejected the run and printed the reason in one sentence.
	if (exit.code === 2 && words !== '') return new Failure('invalid', words);
	const how = exit.signal === null ? `with status ${exit.code}` : `by ${exit.signal}`;
	return new Failure(
		'internal',
		`The engine exited ${how} before it started working${words === '' ? '' : `: ${words}`}`.replace(/[.]?$/, '.'),
		`See ${join(run, runFiles.log)}.`,
	);
}

/** Returns the line that describes the problem: the error in a stack trace, otherwise the last line. */
export function lastWords(text: string): string {
	const lines = text
		.split('\n')
		.map((line) => line.trim())
		.filter((line) => /\w/.test(line) && !/^(at |Node\.js v)/.test(line));
	return (lines.findLast((line) => /^\w*(Error|Failure)\b.*:/.test(line)) ?? lines.at(-1) ?? '').slice(0, 500);
}

function pause(ms: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, ms));
}
