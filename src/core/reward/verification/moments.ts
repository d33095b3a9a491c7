export interface Moments {
	readonly mean: number;
	/** Sample standard deviation (n - 1); 0 for a single value, and exactly 0 if all values are equal. */
	readonly std: number;
	readonly min: number;
	readonly max: number;
}

/** Computes the moments of finite values; null if there are none. Large values are scaled first to avoid overflow. */
export function moments(values: readonly number[]): Moments | null {
	if (values.length === 0) return null;
	let min = Number.POSITIVE_INFINITY;
	let max = Number.NEGATIVE_INFINITY;
	for (const value of values) {
		if (value < min) min = value;
		if (value > max) max = value;
	}
	if (min === max) return { mean: min, std: 0, min, max };
	const largest = Math.max(Math.abs(min), Math.abs(max));
	const scale = largest > 1e100 || largest < 1e-100 ? largest : 1;
	let sum = 0;
	for (const value of values) sum += value / scale;
	const center = sum / values.length;
	let squares = 0;
	for (const value of values) squares += (value / scale - center) ** 2;
	const std = Math.sqrt(squares / (values.length - 1)) * scale;
	return { mean: center * scale, std: Math.min(std, Number.MAX_VALUE), min, max };
}
