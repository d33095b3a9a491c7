import { masked } from '../model/attention.ts';
import type { PackedSequences } from './jobs.ts';

/** A program input as plain numbers, without a tensor. */
export interface PlainInput {
	readonly shape: readonly number[];
	readonly values: Int32Array | Float32Array | BigInt64Array;
}

/** A table of numbers. */
export type Grid = PlainInput & { readonly values: Int32Array };

/**
 * Token positions in the packed layout of a micro-batch. The grids are filled by plain loops: V8 would reoptimize a
 * callback for each micro-batch.
 */
export class Places {
	readonly #batch: PackedSequences;
	/** Position of the first token in each prefix. */
	readonly #groups: Int32Array;

	constructor(batch: PackedSequences) {
		this.#batch = batch;
		this.#groups = starts(batch.prefixLengths, 0);
	}

	/** Positions of completion tokens, each for the first row that contains it: [rows, kept]. */
	firstGrid(): Grid {
		const { rows, kept } = this.#batch;
		const values = new Int32Array(rows * kept);
		for (let r = 0; r < rows; r++) for (let j = 0; j < kept; j++) values[r * kept + j] = this.#first(r, j);
		return { shape: [rows, kept], values };
	}

	/** Positions of the tokens that a row attends to: its padded prefix, then its own tokens. [rows, prefix + kept] */
	seenGrid(): Grid {
		const { rows, kept, prefix } = this.#batch;
		const seen = prefix + kept;
		const values = new Int32Array(rows * seen);
		for (let r = 0; r < rows; r++) for (let t = 0; t < seen; t++) values[r * seen + t] = this.#seen(r, t);
		return { shape: [rows, seen], values };
	}

	/** Positions of prefix tokens: [groups, prefix]. */
	prefixGrid(): Grid {
		const { groups, prefix } = this.#batch;
		const values = new Int32Array(groups * prefix);
		for (let g = 0; g < groups; g++) for (let p = 0; p < prefix; p++) values[g * prefix + p] = this.#prefix(g, p);
		return { shape: [groups, prefix], values };
	}

	/** Positions of the tokens of whole rows. Each shared token is assigned to only one row. [rows, longest row] */
	rowGrid(): Grid {
		const { rows, lengths, prefixLengths, group } = this.#batch;
		let longest = 1;
		for (let r = 0; r < rows; r++) {
			longest = Math.max(longest, (lengths[r] as number) + (prefixLengths[group[r] as number] as number));
		}
		const values = new Int32Array(rows * longest);
		for (let r = 0; r < rows; r++) {
			for (let t = 0; t < longest; t++) values[r * longest + t] = this.#position(r, t);
		}
		return { shape: [rows, longest], values };
	}

	get #padding(): number {
		return this.#batch.shared + this.#batch.own - 1;
	}

	#own(row: number, index: number): number {
		const { shared, kept, places } = this.#batch;
		return index < kept ? shared + (places[row * kept + index] as number) : this.#padding;
	}

	/** Like `#own`, but only for the first row that contains the token. Other rows get the padding token. */
	#first(row: number, index: number): number {
		const place = this.#own(row, index);
		return this.#batch.firstRow[place - this.#batch.shared] === row ? place : this.#padding;
	}

	#prefix(group: number, index: number): number {
		const length = this.#batch.prefixLengths[group] as number;
		return index < length ? (this.#groups[group] as number) + index : this.#padding;
	}

	/**
	 * Returns the packed position of the token at `index` among those that a row attends to: first the row's padded
	 * prefix, then its own tokens.
	 */
	#seen(row: number, index: number): number {
		const { prefix, group } = this.#batch;
		return index < prefix ? this.#prefix(group[row] as number, index) : this.#own(row, index - prefix);
	}

	/** Returns the packed position of a token in a row. Each shared token is assigned to only one row. */
	#position(row: number, position: number): number {
		const { group, prefixLengths } = this.#batch;
		const length = prefixLengths[group[row] as number] as number;
		if (position >= length) return this.#first(row, position - length);
		return group.indexOf(group[row] as number) === row ? this.#prefix(group[row] as number, position) : this.#padding;
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

/**
 * Returns the index of each head's slice in [tokens, slices, heads, headWidth]. Shape: [lines, heads, columns].
 * @param places positions of tokens, [lines, columns]
 * @param before number of leading positions to skip
 */
function slices(
	{ shape, values: places }: Grid,
	heads: number,
	{ of, which }: { readonly of: number; readonly which: number },
	before = 0,
): PlainInput {
	const [lines, columns] = shape as [number, number];
	const values = new Int32Array(lines * heads * columns);
	for (let line = 0; line < lines; line++) {
		for (let column = 0; column < columns; column++) {
			const base = (((places[line * columns + column] as number) - before) * of + which) * heads;
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
	/** Number of prefix tokens. They come first. */
	readonly #prefixTokens: number;
	/** Group of each prefix token, and first row of each of the rows' own tokens. */
	readonly #owners: Int32Array;
	/** Index of each token in its prefix or completion. */
	readonly #indexes: Int32Array;

	constructor(batch: PackedSequences, heads: number) {
		this.#batch = batch;
		this.#heads = heads;
		const { groups, prefixLengths, firstRow, depth } = batch;
		this.#prefixTokens = prefixLengths.reduce((sum, length) => sum + length, 0);
		this.#owners = new Int32Array(this.#prefixTokens + firstRow.length);
		this.#indexes = new Int32Array(this.#owners.length);
		let place = 0;
		for (let g = 0; g < groups; g++) {
			for (let p = 0; p < (prefixLengths[g] as number); p++, place++) {
				this.#owners[place] = g;
				this.#indexes[place] = p;
			}
		}
		this.#owners.set(firstRow, place);
		this.#indexes.set(depth, place);
	}

	/** Number of prefix head outputs, which the row head outputs follow. */
	get #prefixOutputs(): number {
		return this.#batch.groups * this.#heads * this.#batch.prefix;
	}

	/** Indexes into the prefix head outputs, followed by the row head outputs. One per token. */
	get outputs(): HeadSlices {
		const { shared, own, prefix, kept } = this.#batch;
		const heads = this.#heads;
		const before = this.#prefixOutputs;
		const bases = new Int32Array(shared + own).fill(before);
		const strides = new Int32Array(shared + own);
		for (let place = 0; place < this.#owners.length; place++) {
			const [owner, index] = [this.#owners[place] as number, this.#indexes[place] as number];
			const inPrefix = place < this.#prefixTokens;
			const columns = inPrefix ? prefix : kept;
			bases[place] = (inPrefix ? 0 : before) + owner * heads * columns + index;
			strides[place] = columns;
		}
		return { bases, strides };
	}

	/** Indexes into the row head outputs. One per token that is not in a prefix. */
	get ownOutputs(): HeadSlices {
		const { bases, strides } = this.outputs;
		const { shared } = this.#batch;
		const own = bases.slice(shared);
		for (let i = 0; i < own.length; i++) own[i] = (own[i] as number) - this.#prefixOutputs;
		return { bases: own, strides: strides.subarray(shared) };
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
		const prefixStep = this.#prefixOutputs;
		const bases = new Int32Array((shared + own) * 3).fill(zero);
		const strides = new Int32Array((shared + own) * 3);
		for (let place = 0; place < this.#owners.length; place++) {
			const [owner, index] = [this.#owners[place] as number, this.#indexes[place] as number];
			const [query, key, value] = [3 * place, 3 * place + 1, 3 * place + 2];
			if (place < this.#prefixTokens) {
				const base = zero + 1 + owner * heads * prefix + index;
				bases[key] = base;
				bases[value] = base + prefixStep;
				strides[key] = prefix;
				strides[value] = prefix;
				if (!prefixQueries) continue;
				bases[query] = base + 2 * prefixStep;
				strides[query] = prefix;
			} else {
				const base = step + (index * rows + owner) * heads;
				bases[query] = owner * heads * kept + index;
				bases[key] = base;
				bases[value] = base + step;
				strides[query] = kept;
				strides[key] = 1;
				strides[value] = 1;
			}
		}
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
	const { rows, kept, prefix, shared, own, tokens, targets, places: at } = batch;
	const places = new Places(batch);
	const columns = new Int32Array(own).fill(kept * rows);
	for (const [i, row] of batch.firstRow.entries()) columns[i] = (batch.depth[i] as number) * rows + row;
	const cells = new Int32Array(kept * rows);
	for (let i = 0; i < cells.length; i++) cells[i] = (i % rows) * kept + Math.floor(i / rows);
	const ofPrefixes = places.prefixGrid();
	return {
		tokens: { shape: [shared + own], values: tokens },
		targets: { shape: [rows, kept], values: targets },
		positions: positionsOf(batch),
		'by position': places.rowGrid(),
		shared: { shape: [1], values: BigInt64Array.of(BigInt(shared)) },
		'prefix size': { shape: [1], values: BigInt64Array.of(BigInt(prefix)) },
		members: members(batch),
		'prefix mask': prefixMask(prefix),
		'prefix queries': slices(ofPrefixes, heads, { of: 3, which: 0 }),
		'prefix keys': slices(ofPrefixes, heads, { of: 3, which: 1 }),
		'prefix values': slices(ofPrefixes, heads, { of: 3, which: 2 }),
		'prefix places': slices(ofPrefixes, heads, { of: 1, which: 0 }),
		'row tokens': { shape: [rows, kept], values: at },
		cells: { shape: [kept, rows], values: cells },
		columns: { shape: [own], values: columns },
	};
}

/** Returns the index inputs for a packed micro-batch. See `packedTrunk`. */
export function packedInputs(batch: PackedSequences, heads: number): Record<string, PlainInput> {
	const { rows, kept, prefix, shared, own } = batch;
	const places = new Places(batch);
	const [first, all] = [places.firstGrid(), places.seenGrid()];
	const slots = new Slots(batch, heads);
	const seen = prefix + kept;
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
		queries: slices(first, heads, ofQkv(0)),
		keys: slices(all, heads, ofQkv(1)),
		values: slices(all, heads, ofQkv(2)),
		outputs: { shape: [shared + own, heads], values: eachHead(slots.outputs, heads) },
		'own outputs': { shape: [own, heads], values: eachHead(slots.ownOutputs, heads) },
		'row places': slices(first, heads, alone),
		'own row places': slices(first, heads, alone, shared),
		gradients: { shape: [shared + own, 3, heads], values: eachHead(slots.gradients(true), heads) },
		'last gradients': { shape: [shared + own, 3, heads], values: eachHead(slots.gradients(false), heads) },
		sharers: sharers(batch),
		'own seen': { shape: [kept, rows, heads], values: ownSeen },
	};
}

function prefixMask(prefix: number): PlainInput {
	const values = new Float32Array(prefix * prefix);
	for (let p = 0; p < prefix; p++) values.fill(masked, p * prefix + p + 1, (p + 1) * prefix);
	return { shape: [prefix, prefix], values };
}
