import { formatNumber } from '../../base/format.ts';

/** Formats a fraction from 0 to 1 with three decimals. */
export function shareText(value: number | null | undefined): string {
	return value === null || value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3);
}

/** Formats an interval, such as "0.750 (0.601 to 0.871)". */
export function intervalText(
	interval: { readonly accuracy: number; readonly low: number; readonly high: number } | null | undefined,
): string {
	if (interval === null || interval === undefined || !Number.isFinite(interval.accuracy)) return '–';
	return `${shareText(interval.accuracy)} (${shareText(interval.low)} to ${shareText(interval.high)})`;
}

/** Formats a change, such as "+0.120 (0.031 to 0.209)". */
export function changeText({
	mean,
	low,
	high,
}: {
	readonly mean: number;
	readonly low: number;
	readonly high: number;
}) {
	return `${mean < 0 ? '' : '+'}${shareText(mean)} (${shareText(low)} to ${shareText(high)})`;
}

/** Formats a number of any size with three significant digits. */
export const valueText = (value: number): string => formatNumber(Number(value.toPrecision(3)));

/** Formats several measurements, such as "0.75 (0.6 to 0.9)": mean, minimum and maximum. */
export function spanText(values: readonly number[], format: (value: number) => string): string {
	if (values.length === 0) return '–';
	const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
	if (values.length === 1) return format(mean);
	return `${format(mean)} (${format(Math.min(...values))} to ${format(Math.max(...values))})`;
}

/** Formats seconds since the epoch, such as "2026-03-04 10:15 UTC". */
export function timeText(seconds: number): string {
	const date = new Date(seconds * 1000);
	if (Number.isNaN(date.getTime())) return '–';
	return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
