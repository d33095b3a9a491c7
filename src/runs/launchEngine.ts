import { type ChildProcess, spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Failure, type Reason } from '../base/failure.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { runFiles } from './runFiles.ts';
import { readLogEnd, readRecord } from './runReader.ts';

export interface LaunchOptions {
	/** The engine's program: dist/engine.js. */
	readonly engine: string;
	/** Continue in place from the newest checkpoint. */
	readonly resume?: boolean;
	/** A new run that starts from a checkpoint folder of another one. */
	readonly parentCheckpoint?: string;
	/** The node program; default: this process's own (Electron is told to be Node). */
	readonly node?: string;
	/** How long the engine may take until run.json says that it runs, in milliseconds; default 120000. */
	readonly waitMs?: number;
	readonly signal?: AbortSignal;
}

/**
 * Starts the engine of a prepared run as a process of its own, which outlives this one, and waits until run.json says
 * that it is at work (or waits for its device). Fails with the engine's own typed error when it ends before.
 */
export async function launchEngine(run: string, options: LaunchOptions): Promise<RunRecord> {
	const log = await open(join(run, runFiles.log), 'a').catch((error: unknown) => {
		throw Failure.from(error, `Cannot write into ${run}`);
	});
	let child: ChildProcess;
	try {
		child = spawn(
			options.node ?? process.execPath,
			[
				options.engine,
				'--run',
				run,
				...(options.resume ? ['--resume'] : []),
				...(options.parentCheckpoint === undefined ? [] : ['--parent-checkpoint', options.parentCheckpoint]),
			],
			{
				cwd: dirname(run),
				detached: true,
				windowsHide: true,
				stdio: ['ignore', log.fd, log.fd],
				env: engineEnvironment(),
			},
		);
	} finally {
		await log.close();
	}
	child.unref();
	return await waitForEngine(run, child, options);
}

/** What an engine gets of this process's environment: no debugger, no Electron, no telemetry of its runtime. */
export function engineEnvironment(environment: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
	const { NODE_OPTIONS: _, ...rest } = environment;
	return {
		...rest,
		// Must be set before onnxruntime is loaded.
		ORT_DISABLE_TELEMETRY: '1',
		...(process.versions.electron === undefined ? {} : { ELECTRON_RUN_AS_NODE: '1' }),
	};
}

async function waitForEngine(run: string, child: ChildProcess, options: LaunchOptions): Promise<RunRecord> {
	const ended = new Promise<{ code: number | null; signal: string | null }>((resolve, reject) => {
		child.once('exit', (code, signal) => resolve({ code, signal }));
		child.once('error', (error) => {
			reject(
				new Failure('unavailable', `The engine could not be started: ${error.message}.`, undefined, { cause: error }),
			);
		});
	});
	let end: { code: number | null; signal: string | null } | null = null;
	let failed: unknown = null;
	ended.then(
		(value) => {
			end = value;
		},
		(error: unknown) => {
			failed = error;
		},
	);
	const deadline = Date.now() + (options.waitMs ?? 120_000);
	for (;;) {
		if (failed !== null) throw failed;
		const exit = end as { code: number | null; signal: string | null } | null;
		const record = await readRecord(run).catch(() => null);
		const ours = record !== null && record.pid === child.pid;
		if (exit !== null) {
			if (ours && exit.code === 0) return record;
			throw await whyEnded(run, ours ? record : null, exit);
		}
		if (ours && record.status !== 'starting') {
			if (record.error === undefined) return record;
			// It is about to end and to say so.
			await Promise.race([ended.catch(() => undefined), pause(2000)]);
			throw failureOf(record.error);
		}
		if (options.signal?.aborted)
			throw new Failure('cancelled', 'Waiting for the engine was cancelled; it goes on starting.');
		if (Date.now() > deadline) {
			throw new Failure(
				'timeout',
				`The engine of ${run} has not begun to work.`,
				'Look at engine.log in the run folder.',
			);
		}
		await Promise.race([pause(50), ended.catch(() => undefined)]);
	}
}

/** run.json's error as a Failure. */
export function failureOf(error: NonNullable<RunRecord['error']>): Failure {
	return new Failure(error.reason as Reason, error.message, error.action);
}

async function whyEnded(
	run: string,
	record: RunRecord | null,
	exit: { code: number | null; signal: string | null },
): Promise<Failure> {
	if (record?.error !== undefined) return failureOf(record.error);
	const how = exit.signal === null ? `with status ${exit.code}` : `by ${exit.signal}`;
	const last = (await readLogEnd(run, 4096)).trimEnd().split('\n').slice(-3).join(' | ');
	return new Failure(
		'internal',
		`The engine ended ${how} before it began to work${last === '' ? '' : `; its last words: ${last}`}.`,
		`Look at ${join(run, runFiles.log)}.`,
	);
}

function pause(ms: number): Promise<void> {
	return new Promise((resolve) => setTimeout(resolve, ms));
}
