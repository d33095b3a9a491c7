import {
	formatBinary,
	formatClock,
	formatCount,
	formatDuration,
	formatNumber,
	formatPercent,
} from '../../../src/base/format.ts';
import type { MetricUnit } from '../../../src/core/metrics/metricInfo.ts';
import type { XAxis } from './plotLink.ts';

/** Formats a value for a legend or table. */
export function formatValue(value: number | null | undefined, unit: MetricUnit): string {
	if (value === null || value === undefined || Number.isNaN(value)) return '\u2013';
	if (unit === 'share') return formatPercent(value);
	if (unit === 'seconds') return formatDuration(value);
	if (unit === 'bytes') return formatBinary(value);
	if (unit === 'celsius') return `${formatNumber(value, 3)} °C`;
	if (unit === 'watts') return `${formatNumber(value, 3)} W`;
	if (unit === 'tokens' && Math.abs(value) >= 10_000) return formatCount(value);
	return formatNumber(value);
}

/** Formats a tick on the y axis: short, and without a unit if the whole axis has one. */
export function formatTick(value: number, unit: MetricUnit): string {
	if (unit === 'share') return `${formatNumber(value * 100, 3)}%`;
	if (unit === 'bytes') return formatBinary(value);
	const size = Math.abs(value);
	if (size >= 1e9) return `${formatNumber(value / 1e9, 3)}G`;
	if (size >= 1e6) return `${formatNumber(value / 1e6, 3)}M`;
	if (size >= 1e4) return `${formatNumber(value / 1e3, 3)}k`;
	return formatNumber(value, 3);
}

export function formatX(value: number, axis: XAxis): string {
	return axis === 'step' ? formatNumber(value, 6) : formatClock(value);
}

/** Tick spacings for a time axis, in seconds. */
export const timeSteps = [
	1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400, 172_800, 604_800,
	2_592_000,
];
/** Tick spacings for an axis in bytes. */
export const binarySteps = Array.from({ length: 51 }, (_, i) => 2 ** i);
/** Tick spacings for a step axis. */
export const stepSteps = Array.from({ length: 9 }, (_, i) => [1, 2, 5].map((x) => x * 10 ** i)).flat();

/**
 * Returns the range of a linear y axis for values between `low` and `high`, with some padding on both sides. Starts at
 * 0 if the values are close to it, and clamps fractions to about [0, 1].
 */
export function yRange(
	low: number | null,
	high: number | null,
	unit: MetricUnit,
	fromZero: boolean,
	span: { readonly min?: number; readonly max?: number } = {},
): [number, number] {
	const known = low !== null && high !== null && Number.isFinite(low) && Number.isFinite(high);
	const [min, max] = known ? fitted(low, high, unit, fromZero) : [0, 1];
	return [Math.min(min, span.min ?? min), Math.max(max, span.max ?? max)];
}

function fitted(low: number, high: number, unit: MetricUnit, fromZero: boolean): [number, number] {
	const spread = high - low;
	const room = spread > 0 ? spread * 0.08 : Math.abs(high) * 0.1 || (unit === 'share' ? 0.05 : 0.5);
	let min = low - room;
	let max = high + room;
	if (low >= 0 && (fromZero || low < spread || low === 0)) min = 0;
	else if (high <= 0 && -high < spread) max = 0;
	if (unit === 'share' && low >= 0 && high <= 1) {
		min = Math.max(0, min);
		max = Math.min(1, max);
		if (high === 1) max = 1.02;
	}
	return min < max ? [min, max] : [min, min + 1];
}
