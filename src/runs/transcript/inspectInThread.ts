import { Worker } from 'node:worker_threads';
import type { LongInspection } from '../../protocol/transcriptMessages.ts';
import type { InspectedFile } from './inspectLines.ts';

const heapMb = 1536;

/** An inspection in a thread. */
export interface RunningInspection {
	readonly result: Promise<LongInspection>;
	/** Ends the thread; the result then fails. */
	cancel(): void;
}

/**
 * Inspects a chat log with one message per line in a separate thread. The result fails if the file cannot be read or
 * needs too much memory.
 */
export function inspectInThread(file: InspectedFile): RunningInspection {
	const script = import.meta.url.endsWith('.ts') ? './inspectionWorker.ts' : './transcriptInspection.js';
	const worker = new Worker(new URL(script, import.meta.url), {
		name: 'transcript inspection',
		workerData: file,
		resourceLimits: { maxOldGenerationSizeMb: heapMb },
		stdout: true,
		stderr: true,
	});
	const result = new Promise<LongInspection>((resolve, reject) => {
		worker.on('message', (answer: { inspection: LongInspection } | { failure: string }) => {
			if ('inspection' in answer) resolve(answer.inspection);
			else reject(new Error(answer.failure));
		});
		worker.on('error', reject);
		worker.on('exit', () => reject(new Error('the thread ended')));
	});
	return { result, cancel: () => void worker.terminate() };
}
