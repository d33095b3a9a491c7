import { Failure } from '../../base/failure.ts';
import type { PerToken, Sequence } from '../learner.ts';
import type { PackedSequences } from './jobs.ts';

/** Indices of the rows of each micro-batch. */
export type MicroBatch = readonly number[];

/**
 * Cuts rows into micro-batches of `size`, longest first: rows of like length share one (less padding), and the long
 * ones start first (workers end together). Depends on the rows alone, never on workers or timing.
 */
export function microBatches(rows: readonly Sequence[], size: number): MicroBatch[] {
	const order = rows.map((_, i) => i);
	order.sort((a, b) => length(rows, b) - length(rows, a) || a - b);
	return Array.from({ length: Math.ceil(order.length / size) }, (_, i) => order.slice(i * size, (i + 1) * size));
}

function length(rows: readonly Sequence[], index: number): number {
	return rows[index]?.tokens.length ?? 0;
}

/** Inputs are all tokens but the last, targets all but the first; shorter rows are padded to the longest. */
export function pack(rows: readonly Sequence[]): PackedSequences {
	const tokens = rows.reduce((n, row) => Math.max(n, row.tokens.length - 1), 1);
	const inputs = new Int32Array(rows.length * tokens);
	const targets = new Int32Array(rows.length * tokens);
	rows.forEach((row, r) => {
		for (let t = 0; t + 1 < row.tokens.length; t++) {
			inputs[r * tokens + t] = row.tokens[t] as number;
			targets[r * tokens + t] = row.tokens[t + 1] as number;
		}
	});
	return { rows: rows.length, tokens, inputs, targets };
}

/** Writes each row's completion values ([completion]) to where their tokens are predicted ([rows, tokens]). */
export function packPerToken(
	rows: readonly Sequence[],
	values: (row: number) => PerToken,
	tokens: number,
): Float32Array<ArrayBuffer> {
	const packed = new Float32Array(rows.length * tokens);
	rows.forEach((row, r) => {
		const own = values(r);
		const length = row.tokens.length - row.promptLength;
		if (own.length !== length) {
			throw new Failure('internal', `A completion of ${length} tokens came with ${own.length} values per token.`);
		}
		packed.set(own, r * tokens + row.promptLength - 1);
	});
	return packed;
}

/** The inverse: a row's completion values out of [rows, tokens]. */
export function unpackPerToken(packed: Float32Array, row: Sequence, index: number, tokens: number): PerToken {
	const start = index * tokens + row.promptLength - 1;
	return packed.slice(start, start + row.tokens.length - row.promptLength);
}
