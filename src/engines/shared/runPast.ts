import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hyperparameters, hyperparametersSchema } from '../../protocol/control.ts';
import { decode } from '../../protocol/decode.ts';
import type { EventLine } from '../../protocol/eventLine.ts';
import { runFiles, stepName, stepOf } from '../../runs/runFiles.ts';
import { listCheckpoints, readEvents, readMetricsEnd } from '../../runs/runReader.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import type { Progress } from './progress.ts';

/** A hyperparameter change that an earlier attempt recorded. */
export interface RecordedChange {
	readonly fromStep: number;
	readonly changes: Hyperparameters;
}

/** Records that earlier attempts of a run left behind. */
export interface Past {
	/** Hyperparameter changes that this attempt replays at their original steps. */
	readonly replay: readonly RecordedChange[];
	/** Index of the stage that events.jsonl already shows as started at this attempt's first step. */
	readonly announcedStage: number | null;
	/**
	 * Held-out accuracy in the metrics line of the first step; null if it was measured on zero problems, undefined if it
	 * was not measured.
	 */
	readonly accuracy: number | null | undefined;
}

export const nothingBefore: Past = { replay: [], announcedStage: null, accuracy: undefined };

/**
 * Moves aside everything that earlier attempts wrote after this attempt's first step, and reads their records.
 * @param checkpoint step of the checkpoint, or null if there is none and the run starts over
 */
export async function takeUp(writer: RunWriter, checkpoint: number | null): Promise<Past> {
	const run = writer.folder;
	const step = checkpoint ?? 0;
	const damaged = await damagedCheckpoints(run);
	await writer.setAside(checkpoint ?? -1);
	if (damaged.length > 0) {
		const message = `Moved damaged checkpoints to superseded: ${damaged.join(', ')}.`;
		await writer.appendEvent({ type: 'alert', level: 'warning', message, step });
	}
	const events = await readEvents(run);
	const last = (await readMetricsEnd(run)).at(-1);
	const stage = events.findLast((event) => event.type === 'stage' && event.step === step);
	return {
		replay: events.flatMap(recordedChange),
		announcedStage: typeof stage?.index === 'number' ? stage.index : null,
		accuracy: last?.step === step ? last.values['eval/heldout/accuracy'] : undefined,
	};
}

/** Restores an evaluation that is already recorded for the first step, so it is not repeated. */
export function recallAccuracy({ accuracy }: Past, progress: Progress): void {
	if (accuracy === undefined || progress.evaluatedAt !== null) return;
	progress.evaluatedAt = progress.step;
	if (accuracy !== null && accuracy > (progress.best?.accuracy ?? Number.NEGATIVE_INFINITY)) {
		progress.best = { step: progress.step, accuracy };
	}
}

/**
 * Prepares a new run that starts from another run's checkpoint: records its origin and keeps changed hyperparameters
 * visible.
 */
export async function adopt(
	writer: RunWriter,
	progress: Progress,
	parent: { readonly run: string; readonly checkpoint: string },
): Promise<void> {
	const { step, hyperparameters } = progress;
	progress.evaluatedAt = null;
	await writer.updateRecord({ parent, step });
	if (Object.keys(hyperparameters).length > 0) {
		await writer.appendEvent({ type: 'hyperparameters', changes: hyperparameters, fromStep: step + 1, step });
	}
}

/** Returns the names of incomplete checkpoint folders. */
async function damagedCheckpoints(run: string): Promise<string[]> {
	const whole = new Set((await listCheckpoints(run)).map(({ step }) => stepName(step)));
	const names = await readdir(join(run, runFiles.checkpoints)).catch(() => []);
	return names.filter((name) => stepOf(name) !== null && !whole.has(name)).sort();
}

function recordedChange(event: EventLine): RecordedChange[] {
	if (event.type !== 'hyperparameters' || typeof event.fromStep !== 'number') return [];
	const changes = decode(hyperparametersSchema, event.changes);
	return changes.ok ? [{ fromStep: event.fromStep, changes: changes.value }] : [];
}
