import { Failure } from '../base/failure.ts';
import { pipelineFiles } from '../protocol/pipelineFiles.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { type PipelineOptions, type StartedPipeline, stopPipeline } from '../runs/pipeline/startPipeline.ts';
import type { CliOutput } from './cliOutput.ts';
import { followPipeline } from './followPipeline.ts';
import { onInterrupt } from './interrupts.ts';
import { pipelineLines } from './pipelineText.ts';

export interface ForegroundPipeline {
	readonly output: CliOutput;
	/** Whether to return as soon as the runner has started. */
	readonly detach: boolean;
	start(options: Pick<PipelineOptions, 'onFolder' | 'signal'>): Promise<StartedPipeline>;
}

/**
 * Starts a pipeline and follows it. The runner is a separate process, so it keeps running if the terminal closes.
 * Ctrl+C saves checkpoints and stops the running stages; a second Ctrl+C exits without waiting for the checkpoints.
 */
export async function foregroundPipeline({ output, detach, start }: ForegroundPipeline): Promise<number> {
	const startup = new AbortController();
	let folder: string | null = null;
	const interrupted = async (count: number) => {
		if (folder === null || count > 1) process.exit(130);
		output.line('Saving checkpoints and stopping the running stages. Press Ctrl+C again to exit without waiting.');
		await stopPipeline(folder);
	};
	const release = onInterrupt((count) => {
		interrupted(count).catch((error: unknown) => output.line(Failure.from(error).toString()));
	});
	try {
		const started = await start({
			signal: startup.signal,
			onFolder: (path) => {
				folder = path;
				output.line(`Pipeline ${path}`);
			},
		});
		const { record } = started;
		output.object({ kind: 'started', folder: started.folder, id: record.id, pid: record.pid });
		if (detach) {
			output.line(
				`Running as process ${record.pid}. Check progress with reasoning-lab pipeline status; stop with reasoning-lab pipeline stop.`,
			);
			return 0;
		}
		const view = await followPipeline(started.folder, output, record.attempt);
		// The next command in a script might need the pipeline, its device, or its memory.
		await engineReleased(view.folder, view.record, { lock: pipelineFiles.lock }).catch((failure: unknown) => {
			output.line(Failure.from(failure).toString());
		});
		const { error } = view.record;
		output.object({ kind: 'ended', folder: view.folder, status: view.status, ...(error ? { error } : {}) });
		for (const line of pipelineLines({ ...view, record: { ...view.record, error: undefined } })) output.line(line);
		if (view.status === 'failed' && error !== undefined) throw Failure.of(error);
		if (view.status === 'crashed') {
			throw new Failure(
				'internal',
				`The runner of ${view.folder} exited without an error message.`,
				'See pipeline.log in that folder.',
			);
		}
		if (view.status === 'stopped') {
			output.line(`Stopped. To resume, run: reasoning-lab pipeline resume ${view.folder}`);
		}
		return 0;
	} finally {
		release();
	}
}
