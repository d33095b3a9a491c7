import { Failure } from '../base/failure.ts';
import type { RunAnnotation } from '../protocol/runRecord.ts';
import { type EngineWait, engineWaitOf } from '../runs/engineFacts.ts';
import { isRunFolder } from '../runs/runFolders.ts';
import { readAnnotation } from '../runs/runReader.ts';
import { claimsLife, readRunState } from '../runs/runStatus.ts';
import { readSummary, summarize } from './runSummary.ts';
import type { RunView } from './runView.ts';

/** Reads the list entry of a run with a few small reads, regardless of the run's length. Never fails. */
export async function loadRun(folder: string): Promise<RunView> {
	try {
		if (!(await isRunFolder(folder))) return await loadForeign(folder);
		const { record, status } = await readRunState(folder);
		const [summary, annotation] = await Promise.all([
			readSummary(folder).catch(() => null),
			readAnnotation(folder).catch((): RunAnnotation | null => null),
		]);
		return {
			folder,
			record,
			status,
			queued: claimsLife({ status }) && isQueued(engineWaitOf(record)),
			fault: null,
			annotation,
			reward: summary?.reward ?? null,
			accuracy: summary?.accuracy ?? null,
			tokensPerSecond: summary?.tokensPerSecond ?? null,
		};
	} catch (error) {
		return {
			folder,
			record: null,
			status: 'unreadable',
			queued: false,
			fault: Failure.from(error).toString(),
			annotation: null,
			reward: null,
			accuracy: null,
			tokensPerSecond: null,
		};
	}
}

/** Loads a run from another trainer, deriving its record from its files without reading them in full. */
async function loadForeign(folder: string): Promise<RunView> {
	// Importers are loaded only when needed.
	const { openRun } = await import('../runs/openRun.ts');
	const run = await openRun(folder, { live: true });
	const [newest, annotation] = await Promise.all([
		run.newest().catch(() => []),
		readAnnotation(folder).catch((): RunAnnotation | null => null),
	]);
	const record = await run.record();
	const summary = summarize(newest);
	return { folder, record, status: record.status, queued: false, fault: null, annotation, ...summary };
}

/** Waiting in a queue can take hours, unlike loading. */
const isQueued = (wait: EngineWait | null) => wait?.kind === 'device' || wait?.kind === 'job';
