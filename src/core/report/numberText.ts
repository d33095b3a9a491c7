/** Four significant digits, whole numbers as they are; "–" for none. */
export function numberText(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return '–';
	if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value);
	const size = Math.abs(value);
	if (size < 1e-3 || size >= 1e7) return value.toExponential(2);
	return String(Number(value.toPrecision(4)));
}

/** A share of 0 to 1 with three decimals. */
export function shareText(value: number | null | undefined): string {
	return value === null || value === undefined || !Number.isFinite(value) ? '–' : value.toFixed(3);
}

/** "0.750 (0.601 to 0.871)" */
export function intervalText(
	interval: { readonly accuracy: number; readonly low: number; readonly high: number } | null | undefined,
): string {
	if (interval === null || interval === undefined || !Number.isFinite(interval.accuracy)) return '–';
	return `${shareText(interval.accuracy)} (${shareText(interval.low)} to ${shareText(interval.high)})`;
}

/** "+0.120 (0.031 to 0.209)" */
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

/** Seconds since the epoch as "2026-03-04 10:15 UTC". */
export function timeText(seconds: number): string {
	const date = new Date(seconds * 1000);
	if (Number.isNaN(date.getTime())) return '–';
	return `${date.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Seconds as "3 min 5 s". */
export function durationText(seconds: number): string {
	if (!Number.isFinite(seconds) || seconds < 0) return '–';
	const whole = Math.round(seconds);
	const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
	if (hours > 0) return `${hours} h ${minutes} min`;
	return minutes > 0 ? `${minutes} min ${rest} s` : `${rest} s`;
}

/** "1 question", "2 questions" */
export const countText = (count: number, noun: string, nouns = `${noun}s`): string =>
	`${count} ${count === 1 ? noun : nouns}`;
