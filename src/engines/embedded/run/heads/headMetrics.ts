import { headQuality } from '../../../../core/evaluation/headQuality.ts';
import type { Metrics } from '../../../../core/grpo/stepMetrics.ts';
import type { PerToken } from '../../learner.ts';
import { type LabeledRow, labeledValues } from './labeledRow.ts';

/** Measures how well the values from before an update match its training labels. */
export function updateQuality(rows: readonly LabeledRow[], values: readonly PerToken[]): Metrics {
	const pairs = labeledValues(rows, values);
	const quality = headQuality(pairs.values, pairs.labels);
	const mean = (list: readonly number[]) =>
		list.length === 0 ? null : list.reduce((sum, value) => sum + value, 0) / list.length;
	return {
		'head/label': mean(pairs.labels),
		'head/value': mean(pairs.values),
		'head/brier': quality?.brier ?? null,
	};
}

/** Measures the accuracy of value predictions on held-out text, over all labeled prefixes and over whole completions. */
export function heldOutQuality(rows: readonly LabeledRow[], values: readonly PerToken[]): Metrics {
	const all = labeledValues(rows, values);
	const quality = headQuality(all.values, all.labels);
	const ended = rows.flatMap((row, i) => (row.whole === null ? [] : [{ row, i, place: row.labels[row.whole] }]));
	const whole = headQuality(
		ended.map(({ i, place }) => (values[i] as PerToken)[place?.[0] ?? 0] as number),
		ended.map(({ place }) => place?.[1] ?? 0),
	);
	return {
		'eval/head/loss': quality?.loss ?? null,
		'eval/head/brier': quality?.brier ?? null,
		'eval/head/auc': quality?.auc ?? null,
		'eval/head/calibration_error': quality?.calibrationError ?? null,
		'eval/head/whole_auc': whole?.auc ?? null,
	};
}
