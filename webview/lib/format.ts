import { percentText } from '../../src/base/percent.ts';

const minus = '\u2212';
const signed = (text: string): string => (text.startsWith('-') ? `${minus}${text.slice(1)}` : text);

/** A number in at most `digits` significant digits; very small and very large ones with an exponent. No value: a dash. */
export function formatNumber(value: number | null | undefined, digits = 4): string {
	if (value === null || value === undefined || Number.isNaN(value)) return '\u2013';
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

function trimZeros(text: string): string {
	return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** A share as per cent: 0.3047 is "30.5%". */
export function formatPercent(value: number | null | undefined, decimals = 1): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return '\u2013';
	return signed(percentText(value, decimals));
}

/** Whole numbers with thin spaces between thousands. */
export function formatCount(value: number | null | undefined): string {
	if (value === null || value === undefined || !Number.isFinite(value)) return '\u2013';
	return signed(String(Math.round(value)).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f'));
}

/** A count with its noun: "1 row", "1 896 rows". */
export function formatCounted(value: number | null | undefined, one: string, many = `${one}s`): string {
	return `${formatCount(value)} ${value === 1 ? one : many}`;
}

/** Seconds as two units at most: "850 ms", "12 s", "3 min 05 s", "2 h 07 min", "4 d 03 h". */
export function formatDuration(seconds: number | null | undefined): string {
	if (seconds === null || seconds === undefined || !Number.isFinite(seconds) || seconds < 0) return '\u2013';
	if (seconds === 0) return '0 s';
	if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
	if (seconds < 10) return `${seconds.toFixed(1)} s`;
	const whole = Math.round(seconds);
	if (whole < 60) return `${whole} s`;
	const two = (value: number): string => String(value).padStart(2, '0');
	if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
	const minutes = Math.round(seconds / 60);
	if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
	const hours = Math.round(seconds / 3600);
	return `${Math.floor(hours / 24)} d ${two(hours % 24)} h`;
}

/** A time axis: "0:05", "12:30", "1:02:30". */
export function formatClock(seconds: number): string {
	const whole = Math.max(0, Math.round(seconds));
	const two = (value: number): string => String(value).padStart(2, '0');
	const minutes = Math.floor(whole / 60);
	return minutes < 60
		? `${minutes}:${two(whole % 60)}`
		: `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(whole % 60)}`;
}

/** Bytes in decimal units, as file managers show them. */
export function formatBytes(bytes: number): string {
	if (!Number.isFinite(bytes) || bytes < 0) return '\u2013';
	const units = ['B', 'kB', 'MB', 'GB', 'TB'];
	let value = bytes;
	let unit = 0;
	while (value >= 999.5 && unit < units.length - 1) {
		value /= 1000;
		unit += 1;
	}
	return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Bytes of memory in binary units, as those who make it count them: "80 GiB". */
export function formatBinary(bytes: number): string {
	if (!Number.isFinite(bytes) || bytes < 0) return '\u2013';
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
	let value = bytes;
	let unit = 0;
	while (value >= 1023.5 && unit < units.length - 1) {
		value /= 1024;
		unit += 1;
	}
	return `${formatNumber(value, 3)} ${units[unit]}`;
}
