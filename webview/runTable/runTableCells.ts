import { formatCount, formatCounted, formatTime } from '../../src/base/format.ts';
import { describeMetric } from '../../src/core/metrics/catalog.ts';
import type { RunColumn } from '../../src/core/runTable/runColumns.ts';
import { groupValue } from '../../src/core/runTable/runGroups.ts';
import { formatValue } from '../lib/charts/plotScales.ts';
import type { DataCell } from '../lib/dataTable.ts';
import { plainLabel } from '../lib/trace/hiddenCharacters.ts';
import type { Line } from './runTableModel.ts';

export function isNumeric({ id, kind }: RunColumn): boolean {
	return kind === 'metric' || id === 'step' || id === 'recipe:seed';
}

/** Formats a value for display in a column. @param now in seconds since the epoch */
function valueText(column: RunColumn, value: number | string | boolean, now: number): string {
	if (typeof value !== 'number') return plainLabel(String(value), 200);
	if (column.id === 'created') return formatTime(value, now);
	if (column.id === 'step') return formatCount(value);
	if (column.kind === 'metric') return formatValue(value, describeMetric(column.path).unit);
	// Recipe values are shown as written.
	return String(value);
}

/**
 * Returns a cell for a run or a group. For a group, the cell contains the mean and standard deviation, or the value
 * that all runs share.
 */
export function cellOf(line: Line, column: RunColumn, now: number): DataCell {
	if (line.kind === 'run') {
		const value = column.value(line.row);
		if (value === null) return { text: '' };
		return {
			text: valueText(column, value, now),
			...(column.id === 'name' ? { title: plainLabel(line.row.folder, 400) } : {}),
		};
	}
	const { group } = line;
	if (column.id === 'name') {
		return { text: `${plainLabel(group.label, 120)} (${formatCounted(group.rows.length, 'run')})` };
	}
	const summary = groupValue(group.rows, column);
	if (summary === null) return { text: '' };
	if (typeof summary === 'string') return { text: plainLabel(summary, 200) };
	const { mean, deviation, min, max, runs } = summary;
	if (min === max) return { text: valueText(column, mean, now) };
	// Means of times and settings are not meaningful.
	if (column.kind !== 'metric' && column.id !== 'step') {
		return { text: `${valueText(column, min, now)} to ${valueText(column, max, now)}` };
	}
	const spread = deviation === null ? '' : ` ± ${valueText(column, deviation, now)}`;
	return {
		text: `${valueText(column, mean, now)}${spread}`,
		title: `Mean ± SD of ${formatCounted(runs, 'run')}; ${valueText(column, min, now)} to ${valueText(column, max, now)}`,
	};
}
