/*
 * Number formatting for views, terminals, reports, and messages, with one format each for counts, percentages, times,
 * and sizes. Unknown values are shown as a dash, never as zero.
 */

export const unknown = '\u2013';
const minus = '\u2212';

const isKnown = (value: number | null | undefined): value is number =>
	value !== null && value !== undefined && Number.isFinite(value);
const signed = (text: string): string => (text.startsWith('-') ? `${minus}${text.slice(1)}` : text);
const trimZeros = (text: string): string => (text.includes('.') ? text.replace(/\.?0+$/, '') : text);
const short = (value: number): string => trimZeros(value.toFixed(value < 9.95 ? 1 : 0));
const two = (value: number): string => String(value).padStart(2, '0');

/** Formats a number with at most `digits` significant digits; very small and very large numbers use an exponent. */
export function formatNumber(value: number | null | undefined, digits = 4): string {
	if (value === null || value === undefined || Number.isNaN(value)) return unknown;
	if (!Number.isFinite(value)) return value > 0 ? '\u221e' : `${minus}\u221e`;
	if (value === 0) return '0';
	const size = Math.abs(value);
	if (size < 1e-4 || size >= 1e7) {
		const [mantissa = '', exponent = ''] = value.toExponential(digits - 1).split('e');
		return signed(`${trimZeros(mantissa)}e${exponent.replace('+', '')}`);
	}
	if (Number.isInteger(value)) return signed(String(value));
	const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
	return signed(trimZeros(value.toFixed(Math.min(decimals, 20))));
}

/** Formats a fraction as a percentage: 0.3047 is "30.5%". */
export function formatPercent(share: number | null | undefined, decimals = 1): string {
	return isKnown(share) ? signed(`${(share * 100).toFixed(decimals)}%`) : unknown;
}

/** Formats part / whole as an integer percentage. Only an exact 0 or 1 is shown as 0% or 100%. */
export function formatPart(part: number, whole: number): string {
	const exact = (100 * part) / whole;
	const shown = part === 0 || part === whole ? exact : Math.min(99, Math.max(1, Math.round(exact)));
	return isKnown(shown) ? `${shown}%` : unknown;
}

/** Formats progress as a percentage, rounded down, so that unfinished work never shows "100%". 0 of 0 is "0%". */
export function formatProgress(done: number, total: number): string {
	return `${total > 0 ? Math.floor((100 * done) / total) : 0}%`;
}

/** Formats an integer with thousands separators: "1,896". */
export function formatCount(value: number | null | undefined): string {
	return isKnown(value) ? signed(String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, ',')) : unknown;
}

/** Formats a count with its noun: "1 row", "1,896 rows". */
export function formatCounted(value: number | null | undefined, one: string, many = `${one}s`): string {
	return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/**
 * Formats a duration with at most two units: "12 µs", "3.4 ms", "850 ms", "12 s", "3 min 05 s", "2 h 07 min", "4 d 03
 * h".
 */
export function formatDuration(seconds: number | null | undefined): string {
	if (!isKnown(seconds) || seconds < 0) return unknown;
	if (seconds === 0) return '0 s';
	if (seconds < 0.9995e-3) return `${short(seconds * 1e6)} µs`;
	if (seconds < 0.9995) return `${short(seconds * 1e3)} ms`;
	if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
	const whole = Math.round(seconds);
	if (whole < 60) return `${whole} s`;
	if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
	const minutes = Math.round(seconds / 60);
	if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
	const hours = Math.round(seconds / 3600);
	return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** Formats an estimated duration, with a single unit below an hour: "40 s", "2 min", "2 h 07 min". */
export function formatEstimate(seconds: number): string {
	if (!isKnown(seconds) || seconds < 0) return unknown;
	const minutes = Math.round(seconds / 60);
	if (minutes >= 60) return formatDuration(minutes * 60);
	return seconds < 59.5 ? `${Math.round(seconds)} s` : `${minutes} min`;
}

/** Formats seconds as a clock: "0:05", "12:30", "1:02:30". */
export function formatClock(seconds: number): string {
	if (!isKnown(seconds) || seconds < 0) return unknown;
	const whole = Math.round(seconds);
	const minutes = Math.floor(whole / 60);
	return minutes < 60
		? `${minutes}:${two(whole % 60)}`
		: `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** Formats a size in decimal units, as file managers do: "340 B", "2.1 GB". */
export function formatBytes(bytes: number): string {
	return sized(bytes, 1000, ['B', 'kB', 'MB', 'GB', 'TB']);
}

/** Formats a memory size in binary units, as hardware vendors do: "80 GiB". */
export function formatBinary(bytes: number): string {
	return sized(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
}

function sized(bytes: number, base: number, units: readonly string[]): string {
	if (!isKnown(bytes) || bytes < 0) return unknown;
	let value = bytes;
	let unit = 0;
	while (value >= base - 0.5 && unit < units.length - 1) {
		value /= base;
		unit += 1;
	}
	return `${unit === 0 || value >= 99.95 ? Math.round(value) : trimZeros(value.toFixed(1))} ${units[unit]}`;
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/**
 * Formats a local time of day, preceded by the date unless it is today: "16:27", "20 Nov 16:27", "20 Nov 2025 16:27".
 * @param seconds since the epoch
 * @param now seconds since the epoch
 */
export function formatTime(seconds: number, now: number): string {
	const date = new Date(seconds * 1000);
	const today = new Date(now * 1000);
	const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
	const day = `${date.getDate()} ${months[date.getMonth()]}`;
	if (date.getFullYear() !== today.getFullYear()) return `${day} ${date.getFullYear()} ${time}`;
	return date.toDateString() === today.toDateString() ? time : `${day} ${time}`;
}

/** Capitalizes the first letter. */
export const firstUpper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
