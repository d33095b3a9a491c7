import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { StageFailure } from '../core/pipeline/stageFailure.ts';
import { FileLock } from '../files/fileLock.ts';
import type { RunRecord } from '../protocol/runRecord.ts';
import { engineReleased } from '../runs/engineRelease.ts';
import { requireOwnRun } from '../runs/foreignCode.ts';
import { connectRun } from '../runs/runControl.ts';
import { runFiles } from '../runs/runFiles.ts';
import { readEvaluations } from '../runs/runReader.ts';
import { RunRegistry } from '../runs/runRegistry.ts';
import { claimsLife, type RunState, readRunState } from '../runs/runStatus.ts';
import { checkpointOutputs, dataOutputs } from './stageOutputs.ts';
import type { StageEnd, StageWork } from './stageWork.ts';

const lookMs = 100;
/** Time limit for an engine started by another runner to record that it is starting. */
const startMs = 30_000;
/** Interval between writes of the elapsed stage time. A killed stage can exceed its time limit by this much. */
const reportSeconds = 5;

/** Returns whether an engine is working on a run. */
export async function runLives(run: string): Promise<boolean> {
	const state = await readRunState(run).catch(() => null);
	return state !== null && claimsLife(state);
}

/** Returns whether a run has finished. One that was in progress when its stage was planned can finish before this check. */
async function hasFinished(run: string): Promise<boolean> {
	return (await readRunState(run).catch(() => null))?.status === 'finished';
}

/** Returns whether the engine that holds a run's lock is working on the run. Waits while it is starting or exiting. */
async function otherStarted(run: string): Promise<boolean> {
	const deadline = performance.now() + startMs;
	for (;;) {
		if (await runLives(run)) return true;
		const held = (await FileLock.holder(join(run, runFiles.lock))) !== null;
		if (!held || performance.now() > deadline) return false;
		await new Promise((resolve) => setTimeout(resolve, lookMs));
	}
}

/**
 * Runs a training stage: starts its engine or attaches to one that is already running, then follows it to the end.
 * Fails with the engine's failure. If the signal aborts, the engine saves a checkpoint and stops. If the stage's time
 * limit expires, the engine does the same and the stage counts as finished.
 */
export async function trainStage(work: StageWork): Promise<StageEnd> {
	const { folder, engine, deviceGroup } = work;
	if (!(await runLives(folder)) && !(await hasFinished(folder))) {
		const began = (await lstat(join(folder, runFiles.record)).catch(() => null)) !== null;
		// The folder content may have changed since the user approved the pipeline.
		await requireOwnRun(folder, 'engine', undefined);
		// Failing to register the run is not an error.
		await new RunRegistry().add(folder).catch(() => undefined);
		try {
			await work.launch(folder, { engine, resume: work.resume && began, ...(deviceGroup && { deviceGroup }) });
		} catch (error) {
			// A killed runner may have started an engine that has not recorded its start yet.
			if (!(await otherStarted(folder))) throw error;
		}
	}
	const { record, status, late } = await followToEnd(work);
	// Wait for the engine to exit: the next stage needs its device and memory, and a stopped pipeline may be resumed
	// immediately.
	await engineReleased(folder, record);
	if (status === 'stopped' && late) {
		const cut = `time limit of ${work.stage.minutes} min reached at step ${record.step}`;
		const made = await finishedRun(work);
		if (made.outputs.length > 0) return { kind: 'finished', ...made, cut };
		throw new Failure('timeout', `No checkpoint was saved: ${cut}.`, 'Raise "minutes".');
	}
	if (status === 'stopped') return { kind: 'stopped' };
	if (status !== 'finished') {
		if (record.error !== undefined) throw Failure.of(record.error);
		throw new StageFailure(
			work.stage.name,
			'internal',
			`The engine for the stage "${work.stage.name}" exited without an error message at step ${record.step}.`,
			`Check ${join(folder, runFiles.log)}, then resume the pipeline.`,
		);
	}
	return { kind: 'finished', ...(await finishedRun(work)) };
}

/** Returns the outputs of a finished run. Fails with `missing` if there are none. */
export async function finishedRun({ folder, stage }: Pick<StageWork, 'folder' | 'stage'>) {
	const some = stage.type === 'rejection-sampling';
	const outputs = [
		...(await checkpointOutputs(folder)),
		...(await dataOutputs(folder, stage.name, { asked: [], some })),
	];
	const accuracy = (await readEvaluations(folder)).findLast(({ name }) => name === 'heldout')?.accuracy ?? null;
	return { outputs, accuracy };
}

/** Follows the run to its end. `late` means that it was stopped at its time limit. */
async function followToEnd({
	folder,
	stage,
	spent,
	signal,
	report,
}: StageWork): Promise<RunState & { readonly late: boolean }> {
	let asked = false;
	let late = false;
	let attempt: number | null = null;
	let reported = spent;
	const started = performance.now();
	const max = stage.minutes === undefined ? Number.POSITIVE_INFINITY : stage.minutes * 60;
	for (;;) {
		const now = spent + (performance.now() - started) / 1000;
		if (now - reported >= reportSeconds) {
			reported = now;
			report({ spent: now });
		}
		const state = await readRunState(folder);
		const { record } = state;
		if (record.attempt !== attempt) {
			attempt = record.attempt;
			report({ attempt });
		}
		if (!claimsLife(state)) {
			report({ spent: now });
			return { ...state, late };
		}
		if ((signal.aborted || now > max) && !asked) {
			asked = true;
			late = !signal.aborted;
			await stopRun(folder, record, true);
			continue;
		}
		await new Promise((resolve) => setTimeout(resolve, lookMs));
	}
}

/** Stops a run's engine. Succeeds if the engine has exited in the meantime. */
export async function stopRun(folder: string, record: Pick<RunRecord, 'id'>, checkpoint: boolean): Promise<void> {
	try {
		const client = await connectRun(folder, record, 'reasoning-lab pipeline');
		try {
			await client.request('run/stop', { checkpoint });
		} finally {
			client.dispose();
		}
	} catch (error) {
		if (await runLives(folder)) throw error;
	}
}
