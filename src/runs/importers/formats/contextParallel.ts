import { type Fields, integerOf, listOf, numberOf, textOf } from '../foreignValues.ts';

/*
 * With context parallelism, each rank has the values of some tokens of a response (slice_log_prob_with_cp in
 * miles/backends/training_utils/cp_utils.py, commit 31f1ca961). A sequence is divided into 2 × `cp_size` chunks of
 * equal length. For load balancing, rank r has chunk r and chunk 2 × `cp_size` - 1 - r. The values of both are
 * concatenated. Each value belongs to the position that predicts its token, one before the token itself.
 */

/** Sizes in tokens. */
interface Sequence {
	readonly total: number;
	readonly response: number;
	/** Length that is divided into chunks: `total`, or the length that all sequences in the batch are padded to. */
	readonly divided: number;
}

/** Returns the 0-based ranges of response tokens whose values a rank has, in the order of those values. */
export function rangesOf(
	{ total, response, divided }: Sequence,
	rank: number,
	size: number,
): readonly (readonly [from: number, to: number])[] {
	const chunk = Math.ceil(divided / (2 * size));
	const first = total - response - 1;
	const ranges: (readonly [number, number])[] = [];
	for (const part of [rank, 2 * size - 1 - rank]) {
		const from = Math.max(part * chunk, first) - first;
		const to = Math.min((part + 1) * chunk, total - 1) - first;
		if (from < to) ranges.push([from, to]);
	}
	return ranges;
}

/** Number of ranks that shared the sequence of a record; 1 without context parallelism, or if not recorded. */
const sizeOf = (record: Fields): number => integerOf(record.cp_size) ?? 1;

function sequenceOf(record: Fields, response: number): Sequence | null {
	const total = integerOf(record.total_lengths);
	const divided = textOf(record.qkv_format) === 'bshd' ? integerOf(record.max_seq_lens) : total;
	if (total === null || divided === null || divided < total || integerOf(record.response_lengths) !== response)
		return null;
	// Every rank has all tokens, so an invented length cannot exceed the number of tokens in the file.
	return response <= total && listOf(record.tokens).length === total ? { total, response, divided } : null;
}

/** Returns the tokens whose values a record has, or null if unknown. */
function tokensIn(record: Fields, response: number, size: number): readonly (readonly [number, number])[] | null {
	const rank = integerOf(record.cp_rank);
	const sequence = sequenceOf(record, response);
	if (rank === null || rank < 0 || rank >= size || sequence === null) return null;
	return rangesOf(sequence, rank, size);
}

/**
 * Returns a column with one value per token of a response from the training data of one or more ranks, or null if
 * none of them has it. Values are null for tokens whose rank is missing. A rank's values are ignored if their number
 * differs from its number of tokens, because it is then unclear which value belongs to which token.
 */
export function columnOf(
	records: readonly Fields[],
	column: string,
	response: number,
): readonly (number | null)[] | null {
	let placed: (number | null)[] | null = null;
	let shared: number | null = null;
	for (const record of records) {
		const values = listOf(record[column]);
		if (values.length === 0) continue;
		// A short response can be entirely in one rank's chunks.
		if (values.length === response) return values.map(numberOf);
		const size = sizeOf(record);
		const ranges = size > 1 && (shared ?? size) === size ? tokensIn(record, response, size) : null;
		if (ranges?.reduce((sum, [from, to]) => sum + to - from, 0) !== values.length) continue;
		shared = size;
		placed ??= Array.from({ length: response }, () => null);
		let taken = 0;
		for (const [from, to] of ranges) {
			for (let i = from; i < to; i++, taken++) placed[i] ??= numberOf(values[taken]);
		}
	}
	return placed;
}
