import { formatPercent } from '../../src/base/format.ts';
import type { MetricTable } from '../../src/core/metrics/metricTable.ts';
import type { DashboardAlerts, DashboardRun, NextStep } from '../../src/protocol/dashboardMessages.ts';
import { formatValue } from '../lib/charts/plotScales.ts';
import { accuracyNames, isLive } from './headerFacts.ts';

/** Change in a run's main result, as text. */
export interface HeroResult {
	readonly label: string;
	/** First and latest values; equal if there is only one. */
	readonly from: string;
	readonly to: string;
	/** What the latest value is based on. */
	readonly note: string | null;
}

/**
 * Returns held-out accuracy at the first and the latest evaluation, with the 95% interval of the latest. Without
 * evaluations, returns the mean reward over the first and the last tenth of the steps. Returns null if neither exists.
 */
export function resultOf(table: MetricTable): HeroResult | null {
	for (const metric of accuracyNames) {
		const rows = rowsOf(table, metric);
		const [first] = rows;
		const last = rows.at(-1);
		if (first === undefined || last === undefined) continue;
		const [low, high] = ['low', 'high'].map((end) => table.value(`${metric}_${end}`, last)) as [number, number];
		const between = Number.isFinite(low) && Number.isFinite(high);
		return {
			label: 'Held-out accuracy',
			from: formatPercent(table.value(metric, first)),
			to: formatPercent(table.value(metric, last)),
			note: between ? `95% interval ${formatPercent(low)} to ${formatPercent(high)}` : null,
		};
	}
	const rows = rowsOf(table, 'reward');
	if (rows.length === 0) return null;
	const tenth = Math.max(1, Math.floor(rows.length / 10));
	const mean = (part: readonly number[]) =>
		formatValue(part.reduce((sum, row) => sum + table.value('reward', row), 0) / part.length, 'number');
	const note = tenth === 1 ? null : `means of ${tenth} steps`;
	return { label: 'Reward', from: mean(rows.slice(0, tenth)), to: mean(rows.slice(-tenth)), note };
}

export interface BestCheckpoint {
	readonly step: number;
	readonly accuracy: number;
	/** Number of checkpoints with a measured accuracy. */
	readonly evaluated: number;
}

/**
 * Returns the complete checkpoint with the highest held-out accuracy at its step, breaking ties in favor of the latest;
 * null if no checkpoint has a measured accuracy. Only values of one metric are compared.
 */
export function bestCheckpoint(table: MetricTable, checkpoints: readonly number[]): BestCheckpoint | null {
	for (const metric of accuracyNames) {
		const found = checkpoints.flatMap((step) => {
			const row = table.rowOf(step);
			const accuracy = row < 0 ? Number.NaN : table.value(metric, row);
			return Number.isNaN(accuracy) ? [] : [{ step, accuracy }];
		});
		const [first] = found;
		if (first === undefined) continue;
		const best = found.reduce((so, one) => (one.accuracy >= so.accuracy ? one : so), first);
		return { ...best, evaluated: found.length };
	}
	return null;
}

function rowsOf(table: MetricTable, metric: string): number[] {
	const rows: number[] = [];
	table.column(metric)?.forEach((value, row) => {
		if (!Number.isNaN(value)) rows.push(row);
	});
	return rows;
}

/** Returns at most three suggested next steps for a run, most useful first. */
export function nextSteps(run: DashboardRun, alerts: DashboardAlerts | null): NextStep[] {
	const steps: NextStep[] = [];
	if (adviceOf(alerts) !== null) steps.push('showAdvice');
	if (run.status === null || isLive(run)) return steps;
	const own = run.format === undefined;
	if (own && run.checkpoints.length > 0) steps.push('evaluate', 'tryInPlayground');
	steps.push('compare');
	if (!own) steps.push('query');
	return steps.slice(0, 3);
}

/** Returns the id of the most likely cause whose suggested change can be shown in the recipe, or null. */
export function adviceOf(alerts: DashboardAlerts | null): string | null {
	const found = alerts?.alerts.find(({ holds, dismissed, recipe }) => holds && !dismissed && recipe !== null);
	return found?.id ?? null;
}
