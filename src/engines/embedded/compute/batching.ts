import type { Sequence } from '../learner.ts';
import type { PaddedSequences } from './jobs.ts';

/** Row indexes of a micro-batch. */
export type MicroBatch = readonly number[];

/** Minimum number of micro-batches at which the last two are halved. */
const many = 4;

/** Sorts row indexes before rows are split into micro-batches. */
export type Order = (rows: readonly Sequence[]) => number[];

/** Sorts rows from longest to shortest. */
export function byLength(rows: readonly Sequence[]): number[] {
	const order = rows.map((_, i) => i);
	return order.sort((a, b) => length(rows, b) - length(rows, a) || a - b);
}

/** Keeps rows with the same prompt together, and puts prompts with the longest rows first. */
export function byPrompt(rows: readonly Sequence[]): number[] {
	const groups = new Map<string, number[]>();
	for (const i of byLength(rows)) {
		const { tokens, promptLength } = rows[i] as Sequence;
		const prompt = tokens.slice(0, promptLength).join();
		const group = groups.get(prompt);
		if (group === undefined) groups.set(prompt, [i]);
		else group.push(i);
	}
	return [...groups.values()].flat();
}

/**
 * Splits rows into micro-batches of `size`, longest first: rows of similar length are batched together to reduce
 * padding, and long rows start first. The last two batches are halved, so workers finish at about the same time for any
 * number of rows. The result depends only on the rows, never on workers or timing. `together` is the number of
 * consecutive rows to keep in the same micro-batch, in order.
 */
export function microBatches(
	rows: readonly Sequence[],
	size: number,
	together = 1,
	order: Order = byLength,
): MicroBatch[] {
	if (together > 1) {
		const groups = Array.from({ length: rows.length / together }, (_, g) =>
			rows
				.slice(g * together, (g + 1) * together)
				.reduce((longest, row) => (row.tokens.length > longest.tokens.length ? row : longest)),
		);
		const whole = microBatches(groups, Math.max(1, Math.floor(size / together)), 1, order);
		return whole.map((batch) => batch.flatMap((g) => Array.from({ length: together }, (_, i) => g * together + i)));
	}
	const ordered = order(rows);
	const count = Math.ceil(ordered.length / size);
	const whole = count < many ? ordered.length : (count - 2) * size;
	return [...pieces(ordered.slice(0, whole), size), ...pieces(ordered.slice(whole), Math.ceil(size / 2))];
}

function pieces(order: readonly number[], size: number): MicroBatch[] {
	return Array.from({ length: Math.ceil(order.length / size) }, (_, i) => order.slice(i * size, (i + 1) * size));
}

function length(rows: readonly Sequence[], index: number): number {
	return rows[index]?.tokens.length ?? 0;
}

/** Pads whole rows on the right to the length of the longest one: [rows, tokens]. */
export function pad(rows: readonly Sequence[]): PaddedSequences {
	const tokens = rows.reduce((n, row) => Math.max(n, row.tokens.length), 1);
	const inputs = new Int32Array(rows.length * tokens);
	for (const [r, row] of rows.entries()) inputs.set(row.tokens, r * tokens);
	return { rows: rows.length, tokens, inputs };
}
