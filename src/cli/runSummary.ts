import { Failure } from '../base/failure.ts';
import type { EvaluationSummary } from '../protocol/evaluation.ts';
import type { EventLine } from '../protocol/eventLine.ts';
import type { MetricsLine } from '../protocol/metricsLine.ts';
import { readEvaluations, readEvents, readMetrics } from '../runs/runReader.ts';

export interface Accuracy {
	readonly accuracy: number;
	/** Lower bound of the 95% interval. */
	readonly low: number;
	readonly high: number;
}

/** Result of a GRPO run, computed entirely from the run directory. */
export interface RunSummary {
	/** Held-out sampled accuracy at the start of the grpo stage, before its first update. */
	readonly before: Accuracy;
	/** Held-out sampled accuracy at the end. */
	readonly after: Accuracy;
	/** Wall time of the grpo stage in seconds, excluding evaluations, pauses, and gaps between attempts. */
	readonly trainingSeconds: number;
	/** Median time per generation batch, including all of its updates, in seconds. */
	readonly stepSeconds: number;
	/** Median number of optimizer updates per generation batch. */
	readonly updatesPerStep: number;
	readonly run: string;
}

/** Summarizes a run. Fails with `missing` if it has no grpo stage with two held-out evaluations. */
export async function summarizeRun(folder: string): Promise<RunSummary> {
	const [metrics, events, evaluations] = await Promise.all([
		readMetrics(folder),
		readEvents(folder),
		readEvaluations(folder),
	]);
	const heldOut = evaluations.filter(({ name }) => name === 'heldout');
	const lines = metrics.filter(({ stage, values }) => stage === 'grpo' && typeof values.step_time === 'number');
	const first = lines[0];
	// The stage's first update starts from the weights of the previous step.
	const start = first === undefined ? undefined : heldOut.findLast(({ step }) => step < first.step);
	const end = heldOut.at(-1);
	if (start === undefined || end === undefined || end.step <= start.step) {
		throw new Failure(
			'missing',
			`Cannot summarize ${folder}: it has no held-out evaluations before and after GRPO updates.`,
			'Wait until the run finishes its grpo stage.',
		);
	}
	const batches = generationBatches(lines);
	return {
		before: accuracyOf(start),
		after: accuracyOf(end),
		trainingSeconds: round(trainingSeconds(metrics, lines, events)),
		stepSeconds: round(median(batches.map((batch) => sum(batch.map(({ values }) => values.step_time ?? 0))))),
		updatesPerStep: median(batches.map((batch) => batch.length)),
		run: folder,
	};
}

const accuracyOf = ({ accuracy, low, high }: EvaluationSummary): Accuracy => ({ accuracy, low, high });
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const round = (seconds: number) => Math.round(seconds * 1e4) / 1e4;

export function median(values: readonly number[]): number {
	const sorted = [...values].sort((a, b) => a - b);
	const middle = sorted.length >> 1;
	if (sorted.length === 0) return 0;
	return sorted.length % 2 === 1
		? (sorted[middle] as number)
		: ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Groups metrics lines by generation batch; only the first update of a batch carries the batch metrics. */
function generationBatches(lines: readonly MetricsLine[]): MetricsLine[][] {
	const batches: MetricsLine[][] = [];
	for (const line of lines) {
		if (line.values['completions/mean_length'] !== undefined || batches.length === 0) batches.push([]);
		batches.at(-1)?.push(line);
	}
	return batches;
}

const idle = new Set(['paused', 'continued', 'resumed', 'started', 'stopped', 'crashed']);

/**
 * Sums the time between consecutive lines, excluding evaluations. For the first line, and wherever the run was paused
 * or resumed in between, the step's own time is used instead.
 */
function trainingSeconds(
	all: readonly MetricsLine[],
	lines: readonly MetricsLine[],
	events: readonly EventLine[],
): number {
	const breaks = events.filter(({ type }) => idle.has(type)).map(({ time }) => time);
	const before = new Map(all.map((line, i) => [line, all[i - 1]]));
	return sum(
		lines.map((line) => {
			const previous = before.get(line);
			const own = line.values.step_time ?? 0;
			if (previous === undefined || previous.stage !== 'grpo') return own;
			if (breaks.some((time) => time >= previous.time && time <= line.time)) return own;
			return Math.max(own, line.time - previous.time - (line.values['time/evaluate'] ?? 0));
		}),
	);
}
