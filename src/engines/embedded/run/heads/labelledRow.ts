import type { Sequence, ValueRow } from '../../learner.ts';

/** A completion with labels at some of its beginnings. */
export interface LabelledRow extends Sequence {
	/** Completion tokens of each labeled beginning (0: the prompt alone), rising, and its label in 0..1. */
	readonly labels: readonly (readonly [length: number, label: number])[];
	/** Index in `labels` of the whole completion; null: it has no label. */
	readonly whole: number | null;
}

/** Every completion counts alike, and within it every label: their weights add up to 1. */
export function valueRows(rows: readonly LabelledRow[]): ValueRow[] {
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

/** The values of the labeled beginnings of rows, and their labels, side by side. */
export function labelledValues(
	rows: readonly LabelledRow[],
	values: readonly Float32Array[],
): { readonly values: number[]; readonly labels: number[] } {
	return {
		values: rows.flatMap(({ labels }, i) => labels.map(([length]) => (values[i] as Float32Array)[length] as number)),
		labels: rows.flatMap(({ labels }) => labels.map(([, label]) => label)),
	};
}
