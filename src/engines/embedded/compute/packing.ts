import { Failure } from '../../../base/failure.ts';
import type { PerToken, Sequence } from '../learner.ts';
import { byLength, byPrompt, type MicroBatch, microBatches } from './batching.ts';
import type { PackedSequences } from './jobs.ts';

/** Tokens that a row adds: those after which its completion tokens are predicted. */
function ownTokens({ tokens, promptLength }: Sequence): number {
	return tokens.length - promptLength;
}

function samePrompt(a: Sequence, b: Sequence): boolean {
	if (a.promptLength !== b.promptLength) return false;
	for (let t = 0; t < a.promptLength; t++) if (a.tokens[t] !== b.tokens[t]) return false;
	return true;
}

/** Larger than any vocabulary. */
const vocabularyBound = 2 ** 24;

/** Deduplicates completion tokens with a common prefix. */
class SharedPrefixes {
	readonly tokens: number[] = [];
	/** Per token: the first row that contains it, and its number of preceding completion tokens. */
	readonly firstRow: number[] = [];
	readonly depth: number[] = [];
	readonly #known = new Map<number, number>();

	/** Position of a token after the one at `parent` or, for the last token of a prompt, of group -1 - `parent`. */
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
 * Packs the tokens of a micro-batch without padding, with each prefix stored once: first everything before the last
 * token of each distinct prompt, then the tokens after which completion tokens are predicted (once for completions with
 * a common prefix), then one padding token for unused positions of rectangular tensors.
 */
export function pack(rows: readonly Sequence[]): PackedSequences {
	const heads: Sequence[] = [];
	const group = Int32Array.from(rows, (row) => {
		const known = heads.findIndex((head) => samePrompt(head, row));
		return known >= 0 ? known : heads.push(row) - 1;
	});
	const prefixLengths = Int32Array.from(heads, ({ promptLength }) => promptLength - 1);
	const lengths = Int32Array.from(rows, ownTokens);
	const kept = lengths.reduce((most, length) => Math.max(most, length), 1);
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
		prefix: prefixLengths.reduce((most, length) => Math.max(most, length), 1),
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
 * Micro-batches of rows to be packed: either rows of a prompt together, so that it is computed once, or rows of similar
 * length together, so that attention has less padding, whichever is less work.
 * @param width of the model
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
 * Approximate cost of a micro-batch per layer, in units of a query-key product: 4 width operations, which run at about
 * a third of the speed of the 24 width^2 of a token.
 */
function workOf({ rows, groups, shared, own, prefix, kept }: PackedSequences, width: number): number {
	return 2 * width * (shared + own) + rows * kept * (prefix + kept) + groups * prefix ** 2;
}

/**
 * Scatters the completion values of each row ([completion]) to the positions where their tokens are predicted: [rows,
 * kept].
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
			throw new Failure('internal', `A completion of ${length} tokens came with ${own.length} values per token.`);
		}
		packed.set(own, r * kept);
	});
	return packed;
}

/** The inverse: extracts the completion values of a row from [rows, kept]. */
export function unpackPerToken(
	packed: Float32Array,
	row: Sequence,
	index: number,
	{ kept }: Pick<PackedSequences, 'kept'>,
): PerToken {
	return packed.slice(index * kept, index * kept + ownTokens(row));
}
