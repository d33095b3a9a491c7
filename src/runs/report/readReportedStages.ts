import { checkAborted } from '../../base/async.ts';
import { RunCurves } from '../../core/comparison/runCurves.ts';
import { CompletionSums } from '../../core/report/completionSummary.ts';
import { isMainMetric, mainMetrics } from '../../core/report/mainMetrics.ts';
import type { HeldOut, ReportedCompletions, ReportedCurve, ReportedStage } from '../../core/report/reportedRun.ts';
import { thinCurve } from '../../core/report/thinCurve.ts';
import { messageText } from '../../core/trace/messageText.ts';
import { evaluationLineSchema } from '../../protocol/evaluation.ts';
import type { MetricsLine } from '../../protocol/metricsLine.ts';
import { ownFormat } from '../annotationFolder.ts';
import { runFiles, stepName } from '../runFiles.ts';
import { readEvents, readLines } from '../runReader.ts';
import type { ReadContext } from './readContext.ts';
import { tokensOf } from './tokensOf.ts';

/** Maximum number of stages per run, metrics per stage, points per curve, and completions to read. */
const limits = { stages: 100, names: 64, points: 300, completions: 2000 } as const;

/** A stage as recorded in events or metrics. */
interface Span {
	readonly type: string;
	/** The stage starts after this step; its own metrics come later. */
	readonly after: number;
	readonly curves: RunCurves;
	readonly names: Set<string>;
	first: number;
	last: number;
}

/** Returns the stages of a run with their curves, accuracies and completions, in a single pass over its metrics. */
export async function readReportedStages(context: ReadContext): Promise<ReportedStage[]> {
	const { content, signal } = context;
	const spans = await announced(context);
	const isReported = spans.length > 0;
	for await (const lines of content.metrics(signal)) {
		checkAborted(signal);
		for (const line of lines) {
			const span = isReported
				? spanOf(spans, line)
				: (spans.find(({ type }) => type === line.stage) ?? begin(spans, line));
			if (span !== null) take(span, line);
		}
	}
	const heldOut = (await content.evaluations())
		.filter(({ name }) => name === 'heldout')
		.map(
			({ step, accuracy, low, high, problems, samples }): HeldOut => ({ step, accuracy, low, high, problems, samples }),
		)
		.sort((a, b) => a.step - b.step);
	const stages: ReportedStage[] = [];
	for (const [i, span] of spans.entries()) {
		checkAborted(signal);
		const end = spans[i + 1]?.after ?? Number.POSITIVE_INFINITY;
		// If two stages start after the same step, the first one had no steps, and a stage without steps has no data of its
		// own.
		const own = heldOut.filter(({ step }) => step > span.after && step <= end);
		const before = heldOut.findLast(({ step }) => step <= span.after) ?? null;
		const after = own.at(-1) ?? null;
		const curves = curvesOf(span);
		stages.push({
			number: i + 1,
			type: span.type,
			steps: span.first <= span.last ? [span.first, span.last] : null,
			curves,
			heldOut: before === null ? own : [before, ...own],
			...{ before, after },
			completions: await completionsOf(context, span, end, after, curves),
		});
	}
	return stages;
}

/** Returns the stages in the run's events (several can have the same type), or an empty list if there are none. */
async function announced({ content }: ReadContext): Promise<Span[]> {
	if (content.format !== ownFormat) return [];
	const byIndex = new Map<number, Span>();
	for (const event of await readEvents(content.folder)) {
		const { index, name } = event as { index?: unknown; name?: unknown };
		if (event.type !== 'stage' || typeof index !== 'number' || typeof name !== 'string') continue;
		if (byIndex.size < limits.stages || byIndex.has(index)) byIndex.set(index, newSpan(name, event.step));
	}
	return [...byIndex].sort(([a], [b]) => a - b).map(([, span]) => span);
}

const newSpan = (type: string, after: number): Span => ({
	...{ type, after, curves: new RunCurves(), names: new Set() },
	...{ first: Number.POSITIVE_INFINITY, last: Number.NEGATIVE_INFINITY },
});

function begin(spans: Span[], { stage, step }: MetricsLine): Span | null {
	if (spans.length >= limits.stages) return null;
	const span = newSpan(stage, step - 1);
	spans.push(span);
	return span;
}

/** Finds the stage of a line. A line at exactly the step after which a stage starts is its initial measurement. */
function spanOf(spans: readonly Span[], { step, stage }: MetricsLine): Span | null {
	return (
		spans.findLast((span) => span.after < step && span.type === stage) ??
		spans.findLast((span) => span.after <= step && span.type === stage) ??
		null
	);
}

function take(span: Span, line: MetricsLine): void {
	const values: Record<string, number> = {};
	for (const name in line.values) {
		const value = line.values[name];
		if (value === null || value === undefined || !isMainMetric(name)) continue;
		if (!span.names.has(name)) {
			if (span.names.size >= limits.names) continue;
			span.names.add(name);
		}
		values[name] = value;
	}
	span.curves.append([{ ...line, values }]);
	span.first = Math.min(span.first, line.step);
	span.last = Math.max(span.last, line.step);
}

function curvesOf({ curves, names }: Span): ReportedCurve[] {
	const shown = mainMetrics([...names]);
	const { step, names: taken, values } = curves.take(shown);
	return taken.map((name, i) => ({ name, points: thinCurve(step, values[i] as Float64Array, limits.points) }));
}

/**
 * Returns completions from the stage's last held-out evaluation or, if there is none, from its last step with rollouts.
 */
async function completionsOf(
	context: ReadContext,
	span: Span,
	end: number,
	after: HeldOut | null,
	curves: readonly ReportedCurve[],
): Promise<ReportedCompletions | null> {
	const { content, tags, language } = context;
	const sums = new CompletionSums(tags, language);
	let looked = 0;
	if (after !== null && content.format === ownFormat) {
		const path = `${runFiles.evaluations}/${stepName(after.step)}/heldout.jsonl`;
		for await (const lines of readLines(content.folder, path, evaluationLineSchema)) {
			for (const { completion, truncated } of lines) {
				if (looked < limits.completions) sums.add({ completion: messageText(completion), truncated, tokens: null });
				looked++;
			}
			if (looked >= limits.completions) break;
		}
		const summary = sums.summary();
		const tokens = curves.find(({ name }) => name === 'completions/mean_length')?.points.at(-1)?.y ?? null;
		if (summary !== null) {
			const counted = tokens === null ? '' : ' (tokens: from training completions)';
			return { ...summary, tokens, of: `held-out samples at step ${after.step}${counted}` };
		}
	}
	const step = (await content.steps()).findLast((one) => one > span.after && one <= Math.min(end, span.last));
	if (step === undefined) return null;
	const opened = await content.open(step);
	try {
		for await (const { rollout } of opened.rollouts(context.signal)) {
			if (rollout === null) continue;
			sums.add({
				completion: messageText(rollout.completion),
				truncated: rollout.truncated,
				tokens: tokensOf(rollout),
			});
			if (++looked >= limits.completions) break;
		}
	} finally {
		await opened.close();
	}
	const summary = sums.summary();
	return summary === null ? null : { ...summary, of: `rollouts from step ${step}` };
}
