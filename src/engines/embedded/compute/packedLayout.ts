import { masked } from '../model/attention.ts';
import type { PackedSequences } from './jobs.ts';

/** A program input as plain numbers, without a tensor. */
export interface PlainInput {
	readonly shape: readonly number[];
	readonly values: Int32Array | Float32Array | BigInt64Array;
}

/** Token positions in the packed layout of a micro-batch. */
export class Places {
	readonly #batch: PackedSequences;
	/** Position of the first token in each prefix. */
	readonly #groups: Int32Array;

	constructor(batch: PackedSequences) {
		this.#batch = batch;
		this.#groups = starts(batch.prefixLengths, 0);
	}

	get padding(): number {
		return this.#batch.shared + this.#batch.own - 1;
	}

	own(row: number, index: number): number {
		const { shared, kept, places } = this.#batch;
		return index < kept ? shared + (places[row * kept + index] as number) : this.padding;
	}

	/** Like `own`, but only for the first row that contains the token. Other rows get the padding token. */
	first(row: number, index: number): number {
		const place = this.own(row, index);
		return this.#batch.firstRow[place - this.#batch.shared] === row ? place : this.padding;
	}

	prefix(group: number, index: number): number {
		const length = this.#batch.prefixLengths[group] as number;
		return index < length ? (this.#groups[group] as number) + index : this.padding;
	}

	/**
	 * Returns the packed position of the token at `index` among those that a row attends to: first the row's padded
	 * prefix, then its own tokens.
	 */
	seen(row: number, index: number): number {
		const { prefix, group } = this.#batch;
		return index < prefix ? this.prefix(group[row] as number, index) : this.own(row, index - prefix);
	}

	/** Returns the packed position of a token in a row. Each shared token is assigned to only one row. */
	position(row: number, position: number): number {
		const { group, prefixLengths } = this.#batch;
		const length = prefixLengths[group[row] as number] as number;
		if (position >= length) return this.first(row, position - length);
		return group.indexOf(group[row] as number) === row ? this.prefix(group[row] as number, position) : this.padding;
	}
}

function starts(lengths: Int32Array, first: number): Int32Array {
	let at = first;
	return lengths.map((length) => {
		const start = at;
		at += length;
		return start;
	});
}

/** Returns the index of each head's slice in [tokens, slices, heads, headWidth]. Shape: [lines, heads, columns]. */
function slices(
	lines: number,
	columns: number,
	heads: number,
	place: (line: number, column: number) => number,
	{ of, which }: { readonly of: number; readonly which: number },
): PlainInput {
	const values = new Int32Array(lines * heads * columns);
	for (let line = 0; line < lines; line++) {
		for (let column = 0; column < columns; column++) {
			const base = (place(line, column) * of + which) * heads;
			for (let h = 0; h < heads; h++) values[(line * heads + h) * columns + column] = base + h;
		}
	}
	return { shape: [lines, heads, columns], values };
}

/**
 * Returns the mask added to the scores of each row's queries, which attend to the prefix and to the row's own tokens so
 * far. Shape: [rows, 1, kept, seen].
 */
function rowMask({ rows, kept, prefix, group, prefixLengths }: PackedSequences): PlainInput {
	const seen = prefix + kept;
	const values = new Float32Array(rows * kept * seen);
	for (let r = 0; r < rows; r++) {
		const length = prefixLengths[group[r] as number] as number;
		for (let j = 0; j < kept; j++) {
			const start = (r * kept + j) * seen;
			values.fill(masked, start + length, start + prefix);
			values.fill(masked, start + prefix + j + 1, start + seen);
		}
	}
	return { shape: [rows, 1, kept, seen], values };
}

/** Indexes of the slices of all heads: the index for head h is bases[i] + h strides[i]. */
export interface HeadSlices {
	readonly bases: Int32Array;
	readonly strides: Int32Array;
}

/** Returns the index of every slice: [bases, heads], row by row. */
function eachHead({ bases, strides }: HeadSlices, heads: number): Int32Array {
	const values = new Int32Array(bases.length * heads);
	for (let i = 0; i < bases.length; i++) {
		for (let h = 0; h < heads; h++) values[i * heads + h] = (bases[i] as number) + h * (strides[i] as number);
	}
	return values;
}

/** Locates each token's slices in the concatenated head outputs and gradients. */
export class Slots {
	readonly #batch: PackedSequences;
	readonly #heads: number;

	constructor(batch: PackedSequences, heads: number) {
		this.#batch = batch;
		this.#heads = heads;
	}

	/**
	 * Calls `own` for each of the rows' own tokens, with the first row that contains it, and `prefix` for each prefix
	 * token.
	 */
	#each(
		own: (place: number, row: number, index: number) => void,
		prefix: (place: number, group: number, index: number) => void,
	): void {
		const { groups, prefixLengths, firstRow, depth } = this.#batch;
		let place = 0;
		for (let g = 0; g < groups; g++) {
			for (let p = 0; p < (prefixLengths[g] as number); p++, place++) prefix(place, g, p);
		}
		for (const [i, row] of firstRow.entries()) own(place + i, row, depth[i] as number);
	}

	/** Number of prefix head outputs, which the row head outputs follow. */
	get prefixOutputs(): number {
		return this.#batch.groups * this.#heads * this.#batch.prefix;
	}

	/** Indexes into the prefix head outputs, followed by the row head outputs. One per token. */
	get outputs(): HeadSlices {
		const { shared, own, prefix, kept } = this.#batch;
		const heads = this.#heads;
		const before = this.prefixOutputs;
		const bases = new Int32Array(shared + own).fill(before);
		const strides = new Int32Array(shared + own);
		this.#each(
			(place, r, j) => {
				bases[place] = before + r * heads * kept + j;
				strides[place] = kept;
			},
			(place, g, p) => {
				bases[place] = g * heads * prefix + p;
				strides[place] = prefix;
			},
		);
		return { bases, strides };
	}

	/** Indexes into the row head outputs. One per token that is not in a prefix. */
	get ownOutputs(): HeadSlices {
		const { bases, strides } = this.outputs;
		const { shared } = this.#batch;
		return {
			bases: bases.subarray(shared).map((base) => base - this.prefixOutputs),
			strides: strides.subarray(shared),
		};
	}

	/**
	 * Indexes into the concatenation of the gradients of row queries, keys and values (summed over rows that share a
	 * token: [kept, rows, heads]), one slice of zeros, and the gradients of prefix keys, values and, if needed, queries.
	 * Three per token.
	 */
	gradients(prefixQueries: boolean): HeadSlices {
		const { rows, shared, own, prefix, kept } = this.#batch;
		const heads = this.#heads;
		const step = rows * heads * kept;
		const zero = 3 * step;
		const prefixKeys = zero + 1;
		const prefixStep = this.prefixOutputs;
		const bases = new Int32Array((shared + own) * 3).fill(zero);
		const strides = new Int32Array((shared + own) * 3);
		this.#each(
			(place, r, j) => {
				const key = step + (j * rows + r) * heads;
				bases.set([r * heads * kept + j, key, key + step], place * 3);
				strides.set([kept, 1, 1], place * 3);
			},
			(place, g, p) => {
				const key = prefixKeys + g * heads * prefix + p;
				bases.set([prefixQueries ? key + 2 * prefixStep : zero, key, key + prefixStep], place * 3);
				strides.set([prefixQueries ? prefix : 0, prefix, prefix], place * 3);
			},
		);
		return { bases, strides };
	}
}

/** Returns 1 where the first row of a shared token represents another row, per completion token: [kept, rows, rows]. */
function sharers({ rows, kept, places, firstRow }: PackedSequences): PlainInput {
	const values = new Float32Array(kept * rows * rows);
	for (let r = 0; r < rows; r++) {
		for (let j = 0; j < kept; j++) {
			const first = firstRow[places[r * kept + j] as number];
			if (first !== undefined) values[(j * rows + first) * rows + r] = 1;
		}
	}
	return { shape: [kept, rows, rows], values };
}

/** Returns 1 where a row continues a prefix, and 0 elsewhere: [rows, groups]. */
function members({ rows, groups, group }: PackedSequences): PlainInput {
	const values = new Float32Array(rows * groups);
	for (let r = 0; r < rows; r++) values[r * groups + (group[r] as number)] = 1;
	return { shape: [rows, groups], values };
}

function positionsOf(batch: PackedSequences): PlainInput {
	const { shared, own, groups, prefixLengths, firstRow, depth, group } = batch;
	const values = new Int32Array(shared + own);
	let place = 0;
	for (let g = 0; g < groups; g++) for (let p = 0; p < (prefixLengths[g] as number); p++) values[place++] = p;
	for (const [i, row] of firstRow.entries()) {
		values[place + i] = (prefixLengths[group[row] as number] as number) + (depth[i] as number);
	}
	return { shape: [shared + own], values };
}

/** Returns the inputs of a packed micro-batch that have neither a head axis nor axes for pairs of tokens or rows. */
export function smallInputs(batch: PackedSequences, heads: number): Record<string, PlainInput> {
	const { rows, groups, kept, prefix, shared, own, tokens, targets, group, prefixLengths, lengths, places: at } = batch;
	const places = new Places(batch);
	const longest = lengths.reduce(
		(max, length, r) => Math.max(max, length + (prefixLengths[group[r] as number] as number)),
		1,
	);
	const columns = new Int32Array(own).fill(kept * rows);
	for (const [i, row] of batch.firstRow.entries()) columns[i] = (batch.depth[i] as number) * rows + row;
	const cells = Int32Array.from({ length: kept * rows }, (_, i) => (i % rows) * kept + Math.floor(i / rows));
	const prefixSlices = (slice: { readonly of: number; readonly which: number }) =>
		slices(groups, prefix, heads, (g, p) => places.prefix(g, p), slice);
	return {
		tokens: { shape: [shared + own], values: tokens },
		targets: { shape: [rows, kept], values: targets },
		positions: positionsOf(batch),
		'by position': grid(rows, longest, (r, t) => places.position(r, t)),
		shared: { shape: [1], values: BigInt64Array.of(BigInt(shared)) },
		'prefix size': { shape: [1], values: BigInt64Array.of(BigInt(prefix)) },
		members: members(batch),
		'prefix mask': prefixMask(prefix),
		'prefix queries': prefixSlices({ of: 3, which: 0 }),
		'prefix keys': prefixSlices({ of: 3, which: 1 }),
		'prefix values': prefixSlices({ of: 3, which: 2 }),
		'prefix places': prefixSlices({ of: 1, which: 0 }),
		'row tokens': { shape: [rows, kept], values: at },
		cells: { shape: [kept, rows], values: cells },
		columns: { shape: [own], values: columns },
	};
}

/** Returns the index inputs for a packed micro-batch. See `packedTrunk`. */
export function packedInputs(batch: PackedSequences, heads: number): Record<string, PlainInput> {
	const { rows, kept, prefix, shared, own } = batch;
	const places = new Places(batch);
	const slots = new Slots(batch, heads);
	const seen = prefix + kept;
	const first = (r: number, j: number) => places.first(r, j);
	const ofQkv = (which: number) => ({ of: 3, which });
	const alone = { of: 1, which: 0 };
	const ownSeen = new Int32Array(kept * rows * heads);
	for (let i = 0; i < kept * rows; i++) {
		const [j, r] = [Math.floor(i / rows), i % rows];
		for (let h = 0; h < heads; h++) ownSeen[i * heads + h] = (r * heads + h) * seen + prefix + j;
	}
	return {
		...smallInputs(batch, heads),
		mask: rowMask(batch),
		queries: slices(rows, kept, heads, first, ofQkv(0)),
		keys: slices(rows, seen, heads, (r, t) => places.seen(r, t), ofQkv(1)),
		values: slices(rows, seen, heads, (r, t) => places.seen(r, t), ofQkv(2)),
		outputs: { shape: [shared + own, heads], values: eachHead(slots.outputs, heads) },
		'own outputs': { shape: [own, heads], values: eachHead(slots.ownOutputs, heads) },
		'row places': slices(rows, kept, heads, first, alone),
		'own row places': slices(rows, kept, heads, (r, j) => first(r, j) - shared, alone),
		gradients: { shape: [shared + own, 3, heads], values: eachHead(slots.gradients(true), heads) },
		'last gradients': { shape: [shared + own, 3, heads], values: eachHead(slots.gradients(false), heads) },
		sharers: sharers(batch),
		'own seen': { shape: [kept, rows, heads], values: ownSeen },
	};
}

/** Returns a grid of positions, one for each line and column. */
export function grid(
	lines: number,
	columns: number,
	place: (line: number, column: number) => number,
): PlainInput & { readonly values: Int32Array } {
	const values = new Int32Array(lines * columns);
	let next = 0;
	for (let line = 0; line < lines; line++) {
		for (let column = 0; column < columns; column++) values[next++] = place(line, column);
	}
	return { shape: [lines, columns], values };
}

function prefixMask(prefix: number): PlainInput {
	const values = new Float32Array(prefix * prefix);
	for (let p = 0; p < prefix; p++) values.fill(masked, p * prefix + p + 1, (p + 1) * prefix);
	return { shape: [prefix, prefix], values };
}
