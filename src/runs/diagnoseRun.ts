import { setImmediate } from 'node:timers/promises';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { Failure } from '../base/failure.ts';
import { Diagnosis } from '../core/diagnosis/diagnosis.ts';
import { type Verdict, verdictOf } from '../core/diagnosis/verdict.ts';
import type { TraceTags } from '../core/trace/trace.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import { diagnosisRunOf } from './diagnosisRunOf.ts';
import { firstLook } from './lookAtRun.ts';
import type { RunContent } from './runContent.ts';
import type { StepFactsCache } from './stepFactsCache.ts';
import { sampledSteps, stepFactsOf } from './stepFactsOf.ts';

export interface DiagnoseOptions {
	readonly signal?: AbortSignalLike;
	/** Number of steps whose rollouts are checked; default `diagnosedSteps`. */
	readonly steps?: number;
	/** Facts from earlier diagnoses; this one adds its own. Without a cache, all rollouts are read. */
	readonly cache?: StepFactsCache;
	/** Receives the number of steps whose rollouts were checked, and the total. */
	readonly onProgress?: (done: number, total: number) => void;
}

export const diagnosedSteps = 200;

/** Number of rows to process before yielding to other work. */
const rowsAtOnce = 100;

/** Diagnosis of a complete run. */
export interface Diagnosed {
	readonly diagnosis: Diagnosis;
	/** Step of the latest metrics row; -1 if there is none. */
	readonly lastStep: number;
	/** Time of the latest row, in seconds since the epoch; null if there is none. */
	readonly lastTime: number | null;
	/** All steps with rollouts, checked or not. */
	readonly steps: readonly number[];
	readonly tags: TraceTags | null;
}

/** Diagnoses a run on disk, from any trainer; unreadable data is skipped. Fails with `cancelled`. */
export async function diagnoseRun(content: RunContent, options: DiagnoseOptions = {}): Promise<Verdict> {
	const { diagnosis, lastTime } = await goThrough(content, options);
	const look = await firstLook(content, lastTime, options.signal);
	if (look !== null) diagnosis.look(look);
	return verdictOf(diagnosis);
}

/** Same as diagnoseRun, but returns the state needed to continue with new data. */
export async function goThrough(content: RunContent, options: DiagnoseOptions = {}): Promise<Diagnosed> {
	const { signal, cache } = options;
	const read: typeof stepFactsOf = cache === undefined ? stepFactsOf : (...step) => cache.of(...step);
	const record = await content.record().catch(() => null);
	const { run, tags } = await diagnosisRunOf(content.folder, content.format, record);
	const diagnosis = new Diagnosis(run);
	const all = content.hasSteps ? await content.steps().catch(orNone) : [];
	const steps = sampledSteps(all, options.steps ?? diagnosedSteps);
	diagnosis.addEvaluations(await content.evaluations().catch(orNone));
	let next = 0;
	const lookUpTo = async (step: number): Promise<void> => {
		for (; next < steps.length && (steps[next] as number) <= step; next++) {
			const facts = await read(content, steps[next] as number, tags, signal).catch(orNull);
			if (facts !== null) diagnosis.addStep(facts);
			options.onProgress?.(next + 1, steps.length);
		}
	};
	let lastStep = -1;
	let lastTime: number | null = null;
	for await (const lines of content.metrics(signal)) {
		for (let i = 0; i < lines.length; ) {
			const from = i;
			await lookUpTo((lines[i] as MetricsLine).step);
			const upTo = steps[next] ?? Number.POSITIVE_INFINITY;
			// Process all rows before the next step with rollouts, up to one batch.
			while (i < lines.length && i - from < rowsAtOnce && (i === from || (lines[i] as MetricsLine).step < upTo)) i++;
			diagnosis.addMetrics(lines.slice(from, i));
			lastStep = Math.max(lastStep, (lines[i - 1] as MetricsLine).step);
			lastTime = (lines[i - 1] as MetricsLine).time;
			await setImmediate();
			checkAborted(signal);
		}
	}
	await lookUpTo(Number.POSITIVE_INFINITY);
	return { diagnosis, lastStep, lastTime, steps: all, tags };
}

/** Ignores read errors, but rethrows cancellation. */
function passOver<T>(value: T): (error: unknown) => T {
	return (error) => {
		if (Failure.from(error).reason === 'cancelled') throw error;
		return value;
	};
}
/** Replaces a list that cannot be read by an empty one. */
export const orNone = passOver([]);
const orNull = passOver(null);
