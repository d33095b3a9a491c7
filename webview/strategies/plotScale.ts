import { formatPercent } from '../../src/base/format.ts';

/** Maps axis values to pixels and provides tick labels. */
export interface Scale {
	at(value: number): number;
	readonly ticks: readonly { readonly value: number; readonly label: string }[];
}

/** Formats a number to three significant digits: 1500 becomes "1.5k". */
export function shortNumber(value: number): string {
	const units: readonly (readonly [number, string])[] = [
		[1e9, 'G'],
		[1e6, 'M'],
		[1e3, 'k'],
	];
	for (const [size, unit] of units) if (value >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
	return String(Number(value.toPrecision(3)));
}

/** Logarithmic axis with ticks at 1, 2 and 5 per decade if they fit, otherwise at powers of ten. */
export function logScale(low: number, high: number, from: number, to: number): Scale {
	const min = Math.max(low, 1e-9);
	const [a, b] = high > min ? [Math.log10(min), Math.log10(high)] : [Math.log10(min) - 0.5, Math.log10(min) + 0.5];
	const at = (value: number) => from + ((Math.log10(Math.max(value, 1e-9)) - a) / (b - a)) * (to - from);
	const marks = (factors: readonly number[]) => {
		const values: number[] = [];
		for (let decade = Math.floor(a); decade <= Math.ceil(b); decade++) {
			for (const factor of factors) {
				const value = factor * 10 ** decade;
				if (Math.log10(value) >= a - 1e-9 && Math.log10(value) <= b + 1e-9) values.push(value);
			}
		}
		return values;
	};
	const room = Math.abs(to - from) / 56;
	const values = [marks([1, 2, 5]), marks([1, 3]), marks([1])].find((one) => one.length <= room) ?? [];
	const shown = values.length > 0 ? values : [10 ** a, 10 ** b];
	return { at, ticks: shown.map((value) => ({ value, label: shortNumber(value) })) };
}

/** Linear axis for fractions, with some padding at both ends. */
export function shareScale(values: readonly number[], from: number, to: number): Scale {
	const low = Math.min(1, ...values);
	const high = Math.max(0, ...values);
	const step = [0.02, 0.05, 0.1, 0.2].find((one) => (high - low) / one <= 6) ?? 0.25;
	const bottom = Math.max(0, Math.floor((low - step / 4) / step) * step);
	const top = Math.min(1, Math.max(bottom + step, Math.ceil((high + step / 4) / step) * step));
	const at = (value: number) => from + ((value - bottom) / (top - bottom)) * (to - from);
	const count = Math.round((top - bottom) / step);
	return {
		at,
		ticks: Array.from({ length: count + 1 }, (_, i) => {
			const value = bottom + i * step;
			return { value, label: formatPercent(value, 0) };
		}),
	};
}
