import type { Sequence, ValueRow } from '../../learner.ts';

/** A completion with labels at some of its prefixes. */
export interface LabeledRow extends Sequence {
	/** Completion tokens of each labeled prefix (0: the prompt alone), ascending, and its label in 0..1. */
	readonly labels: readonly (readonly [length: number, label: number])[];
	/** Index in `labels` of the whole completion; null if unlabeled. */
	readonly whole: number | null;
}

/** Weights every completion equally, and within it every label: the weights sum to 1. */
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

/** Values and labels of the labeled prefixes of rows, in parallel. */
export function labeledValues(
	rows: readonly LabeledRow[],
	values: readonly Float32Array[],
): { readonly values: number[]; readonly labels: number[] } {
	return {
		values: rows.flatMap(({ labels }, i) => labels.map(([length]) => (values[i] as Float32Array)[length] as number)),
		labels: rows.flatMap(({ labels }) => labels.map(([, label]) => label)),
	};
}
