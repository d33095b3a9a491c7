import { formatDuration } from '../../base/format.ts';
import { learnsFromRewards } from '../../protocol/recipeKeys/stageKinds.ts';
import { differenceInterval } from '../evaluation/differenceInterval.ts';
import { pairedMeans } from './comparedStages.ts';
import { changeText, shareText, spanText, valueText } from './numberText.ts';
import type { ReportTable } from './reportDocument.ts';
import type { ReportedPipeline, ReportedPipelineStage } from './reportedPipeline.ts';
import type { ReportedEvaluation, ReportedStage } from './reportedRun.ts';

/** Final fraction of a stage's steps over which metrics are averaged. */
const lastShare = 0.1;

/** A training stage in one of the pipelines. */
interface Sibling {
	readonly stage: ReportedPipelineStage;
	readonly trained: ReportedStage;
	/** Evaluations of its last checkpoint and of its start, or null if either was not evaluated. */
	readonly evaluations: readonly [own: ReportedEvaluation, start: ReportedEvaluation] | null;
}

/**
 * Returns a table for each set of stages that learn from rewards and start from the same stage: the gain over the
 * start, the number of steps, and the cost in KL and entropy, each averaged over pipelines.
 */
export function siblingsTables(pipelines: readonly ReportedPipeline[]): ReportTable[] {
	const [first] = pipelines;
	if (first === undefined) return [];
	const starts = new Map<string, string[]>();
	for (const { name, type, after } of first.stages) {
		const [start] = after;
		if (learnsFromRewards(type) && start !== undefined) starts.set(start, [...(starts.get(start) ?? []), name]);
	}
	return [...starts].flatMap(([start, names]) => {
		const rows = names.map((name) => ({
			name,
			runs: pipelines.flatMap(({ stages }) => siblingOf(stages, name, start)),
		}));
		return names.length > 1 && rows.some(({ runs }) => runs.length > 0) ? [tableOf(start, rows, pipelines.length)] : [];
	});
}

function siblingOf(stages: readonly ReportedPipelineStage[], name: string, start: string): Sibling[] {
	const stage = stages.find((one) => one.name === name);
	const trained = stage?.run?.stages.at(-1);
	if (stage === undefined || trained === undefined) return [];
	const evaluationOf = (of: string) =>
		stages.find(({ type, after, evaluation }) => type === 'evaluate' && after[0] === of && evaluation !== null)
			?.evaluation ?? null;
	const [own, base] = [evaluationOf(name), evaluationOf(start)];
	return [{ stage, trained, evaluations: own === null || base === null ? null : [own, base] }];
}

function tableOf(
	start: string,
	rows: readonly { readonly name: string; readonly runs: readonly Sibling[] }[],
	pipelines: number,
): ReportTable {
	const threshold = thresholdOf(rows.map(({ runs }) => runs));
	return {
		kind: 'table',
		caption: `Training from ${start}`,
		columns: [
			{ title: 'stage' },
			{ title: 'gain in pass@1', numbers: true },
			{ title: threshold === null ? 'steps needed' : `steps to ${shareText(threshold)}`, numbers: true },
			{ title: 'KL', numbers: true },
			{ title: 'entropy', numbers: true },
			{ title: 'time', numbers: true },
		],
		rows: rows.map(({ name, runs }) => [
			name,
			gainText(runs),
			stepsText(runs, threshold, pipelines),
			spanOf(runs.map(({ trained }) => endOf(trained, 'kl'))),
			spanOf(runs.map(({ trained }) => endOf(trained, 'entropy'))),
			spanOf(
				runs.map(({ stage }) => stage.seconds),
				formatDuration,
			),
		]),
		note: [
			`Gain: paired difference by question from the evaluation of ${start}, with its 95% interval${pipelines > 1 ? ' over the questions of all pipelines' : ''}.`,
			threshold === null
				? 'No stage improved its held-out accuracy.'
				: 'Steps: number of steps until held-out accuracy first reached this value, halfway between the start and the highest final accuracy.',
			'KL to the reference (only with a KL term) and entropy of the policy, in nats per token: means over the last tenth of the steps.',
			...(pipelines > 1 ? ['Mean (min to max) over pipelines.'] : []),
		].join(' '),
	};
}

/**
 * Returns the held-out accuracy halfway between the start and the highest mean at the end, or null if none is above the
 * start.
 */
function thresholdOf(rows: readonly (readonly Sibling[])[]): number | null {
	const before = mean(rows.flat().flatMap(({ trained }) => trained.before?.accuracy ?? []));
	const ends = rows.map((runs) => mean(runs.flatMap(({ trained }) => trained.after?.accuracy ?? [])));
	const highest = Math.max(...ends.filter((end) => end !== null));
	return before === null || !(highest > before) ? null : (before + highest) / 2;
}

function gainText(runs: readonly Sibling[]): string {
	const pairs = runs.flatMap(({ evaluations }) => (evaluations === null ? [] : pairedMeans(...evaluations)));
	if (pairs.length === 0) return 'not measured';
	return changeText(differenceInterval(pairs.map(([own, base]) => own - base)));
}

function stepsText(runs: readonly Sibling[], threshold: number | null, pipelines: number): string {
	if (threshold === null) return '–';
	const needed = runs.flatMap(({ trained }) => {
		const reached = trained.heldOut.find(({ accuracy }) => accuracy >= threshold - 1e-9);
		return reached === undefined ? [] : [reached.step - (trained.before?.step ?? 0)];
	});
	if (needed.length === 0) return 'not reached';
	return `${spanOf(needed)}${needed.length < pipelines ? `, reached in ${needed.length} of ${pipelines}` : ''}`;
}

/** Returns the mean of a metric at the end of a stage, or null if it was not recorded. */
function endOf({ curves, steps }: ReportedStage, name: string): number | null {
	const points = curves.find((curve) => curve.name === name)?.points ?? [];
	if (steps === null) return null;
	const [first, last] = steps;
	const end = points.filter(({ x }) => x > last - (last - first + 1) * lastShare);
	return mean((end.length === 0 ? points.slice(-1) : end).map(({ y }) => y).filter(Number.isFinite));
}

function mean(values: readonly number[]): number | null {
	return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Formats the known values, or a single value if all are equal. */
function spanOf(values: readonly (number | null)[], format = valueText): string {
	const known = values.filter((value) => value !== null);
	return spanText(known.every((value) => value === known[0]) ? known.slice(0, 1) : known, format);
}
