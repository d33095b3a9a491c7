import type { Sequence, ValueRow } from '../../learner.ts';

/** A completion with labels for some of its prefixes. */
export interface LabeledRow extends Sequence {
	/**
	 * Length of each labeled prefix in completion tokens (0 for the prompt alone), in ascending order, with its label in
	 * 0..1.
	 */
	readonly labels: readonly (readonly [length: number, label: number])[];
	/** Index in `labels` of the label for the whole completion, or null if it has none. */
	readonly whole: number | null;
}

/** Weights all completions equally, and all labels within a completion equally. The weights sum to 1. */
export function valueRows(rows: readonly LabeledRow[]): ValueRow[] {
	return rows.map(({ tokens, promptLength, labels }) => {
		const places = tokens.length - promptLength + 1;
		const values = new Float32Array(places);
		const weights = new Float32Array(places);
		for (const [length, label] of labels) {
			values[length] = label;
			weights[length] = 1 / (labels.length * rows.length);
		}
		return { tokens, promptLength, labels: values, weights };
	});
}

/** Returns the values and labels of all labeled prefixes as parallel lists. */
export function labeledValues(
	rows: readonly LabeledRow[],
	values: readonly Float32Array[],
): { readonly values: number[]; readonly labels: number[] } {
	return {
		values: rows.flatMap(({ labels }, i) => labels.map(([length]) => (values[i] as Float32Array)[length] as number)),
		labels: rows.flatMap(({ labels }) => labels.map(([, label]) => label)),
	};
}
