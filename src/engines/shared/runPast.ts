import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hyperparameters, hyperparametersSchema } from '../../protocol/control.ts';
import { decode } from '../../protocol/decode.ts';
import type { EventLine } from '../../protocol/eventLine.ts';
import { runFiles, stepName, stepOf } from '../../runs/runFiles.ts';
import { listCheckpoints, readEvents, readMetricsEnd } from '../../runs/runReader.ts';
import type { RunWriter } from '../../runs/runWriter.ts';
import type { Progress } from './progress.ts';

/** A hyperparameter change recorded by an earlier attempt. */
export interface RecordedChange {
	readonly fromStep: number;
	readonly changes: Hyperparameters;
}

/** What an earlier attempt of a run left. */
export interface Past {
	/** Changes that this attempt repeats at their steps. */
	readonly replay: readonly RecordedChange[];
	/** The stage whose start is already recorded in events.jsonl at the step where this attempt starts. */
	readonly announcedStage: number | null;
	/**
	 * Held-out accuracy in the line of the step where the attempt starts; null: measured on no problem; undefined: not
	 * measured.
	 */
	readonly accuracy: number | null | undefined;
}

export const nothingBefore: Past = { replay: [], announcedStage: null, accuracy: undefined };

/**
 * Sets aside what an earlier attempt did after the step where this one starts, and reads its records.
 * @param step of the checkpoint; null if there was none, and the run starts again
 */
export async function takeUp(writer: RunWriter, checkpoint: number | null): Promise<Past> {
	const run = writer.folder;
	const step = checkpoint ?? 0;
	const damaged = await damagedCheckpoints(run);
	await writer.setAside(checkpoint ?? -1);
	if (damaged.length > 0) {
		const message = `Moved to superseded because damaged: ${damaged.join(', ')}.`;
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

/** An evaluation already recorded in the line of the first step is not repeated. */
export function recallAccuracy({ accuracy }: Past, progress: Progress): void {
	if (accuracy === undefined || progress.evaluatedAt !== null) return;
	progress.evaluatedAt = progress.step;
	if (accuracy !== null && accuracy > (progress.best?.accuracy ?? Number.NEGATIVE_INFINITY)) {
		progress.best = { step: progress.step, accuracy };
	}
}

/**
 * Starts a new run from another run's checkpoint: records its origin, and keeps its changed hyperparameters visible.
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

/** Names of incomplete checkpoint folders. */
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
