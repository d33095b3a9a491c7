import { Failure } from '../base/failure.ts';
import { formatClock, formatCounted } from '../base/format.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { readRecord } from '../runs/runReader.ts';
import type { StartedRun, StartOptions } from '../runs/startRun.ts';
import { stopEngine } from '../runs/stopRun.ts';
import type { CliOutput } from './cliOutput.ts';
import { endEngineNow } from './endEngine.ts';
import { followRun } from './followRun.ts';
import { onInterrupt } from './interrupts.ts';
import { summarizeRun } from './runSummary.ts';

export interface ForegroundOptions {
	readonly output: CliOutput;
	/** Whether to return as soon as the engine has started. */
	readonly detach: boolean;
	/** Whether to finish with one line of JSON that compares accuracy before and after. */
	readonly summary: boolean;
	start(options: Pick<StartOptions, 'onFolder' | 'signal'>): Promise<StartedRun>;
}

/**
 * Starts a run and follows it. The engine is a separate process, so it keeps running if the terminal closes. Ctrl+C
 * saves a checkpoint and stops the run; a second Ctrl+C kills it immediately.
 */
export async function foregroundRun(options: ForegroundOptions): Promise<number> {
	const { output } = options;
	const startup = new AbortController();
	let folder: string | null = null;
	let started: StartedRun | null = null;
	let stopping = false;
	let ended = false;

	const stop = async (run: string, record: RunRecord) => {
		stopping = true;
		output.line('Saving a checkpoint and stopping. Press Ctrl+C again to kill the run.');
		await stopEngine(run, record, true);
	};
	const interrupted = async (count: number) => {
		if (options.detach) {
			startup.abort();
			return;
		}
		if (folder === null) process.exit(130);
		const record = started?.record ?? (await readRecord(folder).catch(() => null));
		if (record === null) process.exit(130);
		if (count > 1) {
			ended = true;
			await endEngineNow(folder, record);
			return;
		}
		await stop(folder, record).catch(async () => {
			// The engine is not responding. Kill it, unless a second Ctrl+C already did.
			if (!ended) await endEngineNow(folder as string, record);
		});
	};
	const release = onInterrupt((count) => {
		interrupted(count).catch((error: unknown) => output.line(Failure.from(error).toString()));
	});
	try {
		started = await options.start({
			signal: startup.signal,
			onFolder: (path) => {
				folder = path;
				output.line(`Run ${path}`);
			},
		});
		output.object({ kind: 'started', folder: started.folder, id: started.record.id, pid: started.record.pid });
		if (options.detach) {
			output.line(
				`Running as process ${started.record.pid}. Check progress with reasoning-lab status; stop with reasoning-lab stop.`,
			);
			return 0;
		}
		const end = await followRun(started.folder, output, { attempt: started.record.attempt });
		if (end === null) return 0;
		// The next command in a script might need the run, its device, or its memory.
		await engineReleased(started.folder, end.record).catch((error: unknown) => {
			output.line(Failure.from(error).toString());
		});
		return await report(started.folder, end.record, end.status, stopping, options);
	} catch (error) {
		if (!ended || folder === null) throw error;
		output.object({ kind: 'ended', folder, status: 'crashed' });
		output.line(`Killed. To resume, run: reasoning-lab resume ${folder}`);
		return 0;
	} finally {
		release();
	}
}

async function report(
	folder: string,
	record: RunRecord,
	status: string,
	stopping: boolean,
	{ output, summary }: ForegroundOptions,
): Promise<number> {
	output.object({ kind: 'ended', folder, status, step: record.step, ...(record.error ? { error: record.error } : {}) });
	if (status === 'crashed' && record.error !== undefined) throw Failure.of(record.error);
	if (status === 'crashed' && !stopping) {
		throw new Failure(
			'internal',
			`The engine of ${folder} exited without an error message at step ${record.step}.`,
			'See engine.log in that folder, then resume with reasoning-lab resume.',
		);
	}
	const took = formatClock(record.updated - record.created);
	output.line(
		status === 'finished'
			? `Finished after ${formatCounted(record.step, 'step')} in ${took}: ${folder}`
			: `${status === 'stopped' ? 'Stopped' : 'Ended'} at step ${record.step}. To resume, run: reasoning-lab resume ${folder}`,
	);
	if (summary && status === 'finished') output.summary(await summarizeRun(folder));
	return 0;
}
