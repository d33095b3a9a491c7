import { formatPercent } from '../../base/format.ts';

/** 0.253 -> "25%". */
export function percent(share: number): string {
	return formatPercent(share, share !== 0 && Math.abs(share) < 0.1 ? 1 : 0);
}

/** Formats a number with three significant digits. */
export function digits(value: number): string {
	if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e6)) return value.toExponential(1);
	return String(Number(value.toPrecision(3)));
}

/** Quotes a name. Names come from the trainer and can have any length. */
export function quoted(name: string): string {
	return `"${name.length > 60 ? `${name.slice(0, 59)}…` : name}"`;
}
