/** Metrics for how well predicted values match the actual outcomes. */
export interface HeadQuality {
	/** Binary cross-entropy, in nats. */
	readonly loss: number;
	/** Mean squared difference between value and label (Brier 1950). */
	readonly brier: number;
	/** Fraction of values on the same side of 0.5 as their label. */
	readonly accuracy: number;
	/**
	 * Probability that a correct example gets a higher value than an incorrect one, counting ties as half. null if all
	 * examples are correct or all are incorrect.
	 */
	readonly auc: number | null;
	/** Expected calibration error over ten bins of equal width (Guo et al. 2017, eq. 3). */
	readonly calibrationError: number;
}

const bins = 10;
/** Keeps logarithms finite for values that single precision rounds to 0 or 1. */
const min = 1e-7;

/**
 * Computes the quality of predicted values.
 * @param labels outcomes, or fractions of correct completions, from 0 to 1; 0.5 and above counts as correct
 * @returns null if there are no values
 */
export function headQuality(values: ArrayLike<number>, labels: ArrayLike<number>): HeadQuality | null {
	const n = values.length;
	if (n === 0) return null;
	let loss = 0;
	let brier = 0;
	let same = 0;
	const sums = Array.from({ length: bins }, () => ({ value: 0, label: 0 }));
	for (let i = 0; i < n; i++) {
		const value = values[i] as number;
		const label = labels[i] as number;
		const held = Math.min(1 - min, Math.max(min, value));
		loss -= label * Math.log(held) + (1 - label) * Math.log(1 - held);
		brier += (value - label) ** 2;
		if (value >= 0.5 === label >= 0.5) same++;
		const bin = sums[Math.min(bins - 1, Math.floor(value * bins))] as { value: number; label: number };
		bin.value += value;
		bin.label += label;
	}
	const calibrationError = sums.reduce((sum, { value, label }) => sum + Math.abs(value - label), 0) / n;
	return { loss: loss / n, brier: brier / n, accuracy: same / n, auc: auc(values, labels), calibrationError };
}

/** Returns the area under the ROC curve, using the rank sum of Mann and Whitney (1947). */
function auc(values: ArrayLike<number>, labels: ArrayLike<number>): number | null {
	const order = Array.from({ length: values.length }, (_, i) => i);
	order.sort((a, b) => (values[a] as number) - (values[b] as number));
	let right = 0;
	let ranks = 0;
	for (let start = 0; start < order.length; ) {
		let end = start + 1;
		while (end < order.length && values[order[end] as number] === values[order[start] as number]) end++;
		// 1-based ranks; tied values share their mean rank.
		const rank = (start + 1 + end) / 2;
		for (let i = start; i < end; i++) {
			if ((labels[order[i] as number] as number) < 0.5) continue;
			right++;
			ranks += rank;
		}
		start = end;
	}
	const wrong = order.length - right;
	return right === 0 || wrong === 0 ? null : (ranks - (right * (right + 1)) / 2) / (right * wrong);
}
