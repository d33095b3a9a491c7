import { Failure } from '../../base/failure.ts';
import type { PerToken, Sequence } from '../learner.ts';
import type { PackedSequences } from './jobs.ts';

/** Indices of the rows of each micro-batch. */
export type MicroBatch = readonly number[];

/** From so many micro-batches on, the last are halved. */
const many = 4;

/**
 * Cuts rows into micro-batches of `size`, longest first: rows of like length share one (less padding), and the long
 * ones start first. What would be the last two is cut into halves, so that workers end together whatever the number of
 * rows. Depends on the rows alone, never on workers or timing. Of rows that belong `together`, so many one after the other,
 * none is alone, and they stay in their order.
 */
export function microBatches(rows: readonly Sequence[], size: number, together = 1): MicroBatch[] {
	if (together > 1) {
		const groups = Array.from({ length: rows.length / together }, (_, g) =>
			rows
				.slice(g * together, (g + 1) * together)
				.reduce((longest, row) => (row.tokens.length > longest.tokens.length ? row : longest)),
		);
		const whole = microBatches(groups, Math.max(1, Math.floor(size / together)));
		return whole.map((batch) => batch.flatMap((g) => Array.from({ length: together }, (_, i) => g * together + i)));
	}
	const order = rows.map((_, i) => i);
	order.sort((a, b) => length(rows, b) - length(rows, a) || a - b);
	const count = Math.ceil(order.length / size);
	const whole = count < many ? order.length : (count - 2) * size;
	return [...pieces(order.slice(0, whole), size), ...pieces(order.slice(whole), Math.ceil(size / 2))];
}

function pieces(order: readonly number[], size: number): MicroBatch[] {
	return Array.from({ length: Math.ceil(order.length / size) }, (_, i) => order.slice(i * size, (i + 1) * size));
}

function length(rows: readonly Sequence[], index: number): number {
	return rows[index]?.tokens.length ?? 0;
}

/**
 * Inputs are all tokens but the last, targets all but the first; shorter rows are padded to the longest. Targets begin
 * where the first completion does.
 */
export function pack(rows: readonly Sequence[]): PackedSequences {
	const tokens = rows.reduce((n, row) => Math.max(n, row.tokens.length - 1), 1);
	const first = rows.reduce((n, row) => Math.min(n, row.promptLength - 1), tokens - 1);
	const kept = tokens - first;
	const inputs = new Int32Array(rows.length * tokens);
	const targets = new Int32Array(rows.length * kept);
	rows.forEach((row, r) => {
		for (let t = 0; t + 1 < row.tokens.length; t++) {
			inputs[r * tokens + t] = row.tokens[t] as number;
			if (t >= first) targets[r * kept + t - first] = row.tokens[t + 1] as number;
		}
	});
	return { rows: rows.length, tokens, first, kept, inputs, targets };
}

/** Writes each row's completion values ([completion]) to where their tokens are predicted: [rows, kept], from input `first` on. */
export function packPerToken(
	rows: readonly Sequence[],
	values: (row: number) => PerToken,
	{ first, kept }: Pick<PackedSequences, 'first' | 'kept'>,
): Float32Array<ArrayBuffer> {
	const packed = new Float32Array(rows.length * kept);
	rows.forEach((row, r) => {
		const own = values(r);
		const length = row.tokens.length - row.promptLength;
		if (own.length !== length) {
			throw new Failure('internal', `A completion of ${length} tokens came with ${own.length} values per token.`);
		}
		packed.set(own, r * kept + row.promptLength - 1 - first);
	});
	return packed;
}

/** The inverse: a row's completion values out of [rows, kept]. */
export function unpackPerToken(
	packed: Float32Array,
	row: Sequence,
	index: number,
	{ first, kept }: Pick<PackedSequences, 'first' | 'kept'>,
): PerToken {
	const start = index * kept + row.promptLength - 1 - first;
	return packed.slice(start, start + row.tokens.length - row.promptLength);
}
