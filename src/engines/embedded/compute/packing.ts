import { Failure } from '../../../base/failure.ts';
import type { PerToken, Sequence } from '../learner.ts';
import { byLength, byPrompt, type MicroBatch, microBatches } from './batching.ts';
import type { PackedSequences } from './jobs.ts';

/** Returns the number of tokens that a row adds: those that its completion tokens are predicted from. */
function ownTokens({ tokens, promptLength }: Sequence): number {
	return tokens.length - promptLength;
}

function samePrompt(a: Sequence, b: Sequence): boolean {
	if (a.promptLength !== b.promptLength) return false;
	for (let t = 0; t < a.promptLength; t++) if (a.tokens[t] !== b.tokens[t]) return false;
	return true;
}

/** Upper bound on vocabulary size. */
const vocabularyBound = 2 ** 24;

/** Deduplicates completion tokens that share a prefix. */
class SharedPrefixes {
	readonly tokens: number[] = [];
	/** For each token: the first row that contains it, and the number of completion tokens before it. */
	readonly firstRow: number[] = [];
	readonly depth: number[] = [];
	readonly #known = new Map<number, number>();

	/**
	 * Returns the position of a token that follows the one at `parent`. For the last prompt token, `parent` is -1 -
	 * group.
	 */
	place(parent: number, token: number, row: number, depth: number): number {
		const key = parent * vocabularyBound + token;
		let place = this.#known.get(key);
		if (place === undefined) {
			place = this.tokens.push(token) - 1;
			this.firstRow.push(row);
			this.depth.push(depth);
			this.#known.set(key, place);
		}
		return place;
	}
}

/**
 * Packs the tokens of a micro-batch without padding and stores each prefix once. The layout starts with everything
 * before the last token of each distinct prompt, followed by the tokens that completion tokens are predicted from (once
 * for completions with a common prefix), and one padding token for unused positions in rectangular tensors.
 */
export function pack(rows: readonly Sequence[]): PackedSequences {
	const heads: Sequence[] = [];
	const group = Int32Array.from(rows, (row) => {
		const known = heads.findIndex((head) => samePrompt(head, row));
		return known >= 0 ? known : heads.push(row) - 1;
	});
	const prefixLengths = Int32Array.from(heads, ({ promptLength }) => promptLength - 1);
	const lengths = Int32Array.from(rows, ownTokens);
	const kept = lengths.reduce((max, length) => Math.max(max, length), 1);
	const beginnings = new SharedPrefixes();
	const places = new Int32Array(rows.length * kept).fill(-1);
	const targets = new Int32Array(rows.length * kept);
	for (const [r, { tokens, promptLength }] of rows.entries()) {
		let place = -1 - (group[r] as number);
		for (let t = promptLength; t < tokens.length; t++) {
			const j = t - promptLength;
			place = beginnings.place(place, tokens[t - 1] as number, r, j);
			places[r * kept + j] = place;
			targets[r * kept + j] = tokens[t] as number;
		}
	}
	const own = beginnings.tokens.length + 1;
	const prefixes = heads.flatMap(({ tokens, promptLength }) => tokens.slice(0, promptLength - 1));
	return {
		rows: rows.length,
		kept,
		groups: heads.length,
		prefix: prefixLengths.reduce((max, length) => Math.max(max, length), 1),
		shared: prefixes.length,
		own,
		tokens: Int32Array.from([...prefixes, ...beginnings.tokens, 0]),
		targets,
		places: places.map((place) => (place < 0 ? own - 1 : place)),
		firstRow: Int32Array.from(beginnings.firstRow),
		depth: Int32Array.from(beginnings.depth),
		group,
		lengths,
		prefixLengths,
	};
}

/**
 * Splits rows into micro-batches for packing. Groups rows either by prompt (each prompt is computed once) or by length
 * (less padding in attention), whichever takes less work.
 * @param width model width
 */
export function packedBatches(rows: readonly Sequence[], size: number, width: number, together = 1): MicroBatch[] {
	const work = (batches: readonly MicroBatch[]): number =>
		batches.reduce((sum, batch) => sum + workOf(pack(batch.map((i) => rows[i] as Sequence)), width), 0);
	const [prompts, lengths] = [byPrompt, byLength].map((order) => microBatches(rows, size, together, order)) as [
		MicroBatch[],
		MicroBatch[],
	];
	return work(prompts) <= work(lengths) ? prompts : lengths;
}

/**
 * Returns the approximate cost of a micro-batch per layer, in units of one query-key product. One unit is 4 width
 * operations, which run at about a third of the speed of a token's 24 width^2 operations.
 */
function workOf({ rows, groups, shared, own, prefix, kept }: PackedSequences, width: number): number {
	return 2 * width * (shared + own) + rows * kept * (prefix + kept) + groups * prefix ** 2;
}

/**
 * Scatters each row's completion values ([completion]) to the positions where the tokens are predicted: [rows, kept].
 */
export function packPerToken(
	rows: readonly Sequence[],
	values: (row: number) => PerToken,
	{ kept }: Pick<PackedSequences, 'kept'>,
): Float32Array<ArrayBuffer> {
	const packed = new Float32Array(rows.length * kept);
	rows.forEach((row, r) => {
		const own = values(r);
		const length = ownTokens(row);
		if (own.length !== length) {
			throw new Failure('internal', `A completion with ${length} tokens has ${own.length} per-token values.`);
		}
		packed.set(own, r * kept);
	});
	return packed;
}

/** Inverse of `packPerToken`: extracts a row's completion values from [rows, kept]. */
export function unpackPerToken(
	packed: Float32Array,
	row: Sequence,
	index: number,
	{ kept }: Pick<PackedSequences, 'kept'>,
): PerToken {
	return packed.slice(index * kept, index * kept + ownTokens(row));
}
