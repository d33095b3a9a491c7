import type { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { DashboardRun } from '../../src/protocol/dashboardMessages.ts';
import { elapsedSeconds } from '../../src/protocol/runElapsed.ts';

const live = ['starting', 'running', 'paused'];

export function isLive(run: DashboardRun): boolean {
	return run.status !== null && live.includes(run.status);
}

export function elapsedOfRun(run: DashboardRun, now: number): number | null {
	return elapsedSeconds({ ...run, live: isLive(run), foreign: run.format !== undefined }, now);
}

/** Returns the display label for a run's status. */
export function statusWords(run: DashboardRun): string {
	if (run.status === null) return run.fault?.missing ? 'waiting' : 'unreadable';
	return run.wait?.words ?? run.status;
}

/** How many of the most recent rows are used to compute the pace. */
const paceRows = 50;

/**
 * Estimates the remaining seconds at the current pace: the median time between the latest rows in the stage, times the
 * number of remaining steps. Returns null if nothing has been measured yet, if the run is not running, or if stages
 * with an unknown pace follow. The estimate is an upper bound, because a stage can end early based on its metrics.
 */
export function remainingSeconds(run: DashboardRun, table: MetricTable): number | null {
	if (run.status !== 'running') return null;
	const last = table.length - 1;
	const stage = table.stageAt(last);
	if (last < 2 || stage === undefined) return null;
	const index = run.stages.findIndex((s) => s.name === stage);
	if (index >= 0 && index < run.stages.length - 1) return null;
	const end = endOfStage(run, table, stage, index);
	if (end === null) return null;
	const gaps: number[] = [];
	for (let row = last; row > 0 && gaps.length < paceRows && table.stageAt(row - 1) === stage; row--) {
		const steps = (table.step[row] as number) - (table.step[row - 1] as number);
		const seconds = (table.time[row] as number) - (table.time[row - 1] as number);
		if (steps > 0 && seconds >= 0) gaps.push(seconds / steps);
	}
	if (gaps.length === 0) return null;
	gaps.sort((a, b) => a - b);
	const pace = gaps[Math.floor(gaps.length / 2)] as number;
	return Math.max(0, end - (table.step[last] as number)) * pace;
}

/** Returns the last step that the stage can reach. */
function endOfStage(run: DashboardRun, table: MetricTable, stage: string, index: number): number | null {
	const steps = run.stages[index]?.steps;
	if (steps === null || steps === undefined) return run.totalSteps;
	let row = table.length - 1;
	while (row > 0 && table.stageAt(row - 1) === stage) row--;
	const before = row > 0 ? (table.step[row - 1] as number) : 0;
	return Math.min(before + steps, run.totalSteps ?? Number.POSITIVE_INFINITY);
}

/** Returns the latest value of the first metric in the list that has one. */
export function newestValue(
	table: MetricTable,
	names: readonly string[],
): { readonly metric: string; readonly value: number; readonly row: number } | null {
	for (const metric of names) {
		const row = table.lastRow(metric);
		if (row >= 0) return { metric, value: table.value(metric, row), row };
	}
	return null;
}

/** Accuracy metrics for stages that train on pairs or labels, held-out metrics first. */
export const judgmentNames = [
	'eval/rewards/accuracies',
	'rewards/accuracies',
	'eval/accuracy',
	'accuracy',
	'mean_token_accuracy',
];

/** Stages without a reward, for which accuracy is reported. */
export const judgingStages: readonly string[] = ['dpo', 'reward-model', 'process-reward-model'];

export const accuracyNames = ['eval/heldout/accuracy', 'eval/accuracy'];
