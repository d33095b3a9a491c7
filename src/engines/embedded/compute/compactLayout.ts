import type { PackedSequences } from './jobs.ts';
import { type HeadSlices, Places, type PlainInput, Slots, smallInputs } from './packedLayout.ts';

/**
 * Inputs that describe a packed micro-batch to programs that derive the large inputs themselves (`expandBatch`). The
 * large inputs have a head axis, or cover pairs of tokens or rows. `packedInputs` builds all inputs in full.
 */
export function compactInputs(batch: PackedSequences, heads: number): Record<string, PlainInput> {
	const { rows, kept, prefix, shared, group, prefixLengths } = batch;
	const places = new Places(batch);
	const slots = new Slots(batch, heads);
	const seen = prefix + kept;
	const numbers = (count: number, value: (i: number) => number) => ({
		shape: [count],
		values: Int32Array.from({ length: count }, (_, i) => value(i)),
	});
	const [gradients, last] = [slots.gradients(true), slots.gradients(false)];
	return {
		...smallInputs(batch, heads),
		first: places.firstGrid(),
		seen: places.seenGrid(),
		'shared slices': { shape: [], values: Int32Array.of(shared * heads) },
		...headSlices('output', slots.outputs),
		...headSlices('own output', slots.ownOutputs),
		...headSlices('query', everyThird(gradients, [0])),
		...headSlices('key and value', everyThird(gradients, [1, 2])),
		...headSlices('last query', everyThird(last, [0])),
		'prefix lengths': numbers(rows, (r) => prefixLengths[group[r] as number] as number),
		// Slot number plus 1, or 0 for slots in the other part, so that a single comparison is enough.
		'prefix slots': numbers(seen, (s) => (s < prefix ? s + 1 : 0)),
		'own slots': numbers(seen, (s) => (s < prefix ? 0 : s - prefix)),
		'kept numbers': numbers(kept, (j) => j),
		'row numbers': numbers(rows, (r) => r),
		owners: owners(batch),
		'row starts': numbers(rows, (r) => r * heads * seen),
		'head starts': numbers(heads, (h) => h * seen),
		'kept starts': numbers(kept, (j) => prefix + j),
	};
}

interface HeadSlicesOf extends HeadSlices {
	/** Number of slices per position. */
	readonly columns?: number;
}

function headSlices(name: string, { bases, strides, columns = 1 }: HeadSlicesOf): Record<string, PlainInput> {
	const shape = columns === 1 ? [bases.length] : [bases.length / columns, columns];
	return { [`${name} bases`]: { shape, values: bases }, [`${name} strides`]: { shape, values: strides } };
}

/** Selects some of the three slices at each position. */
function everyThird({ bases, strides }: HeadSlices, which: readonly number[]): HeadSlicesOf {
	const pick = (values: Int32Array) => {
		const picked = new Int32Array((values.length / 3) * which.length);
		for (let i = 0; i < picked.length; i++) {
			const [place, column] = [Math.floor(i / which.length), which[i % which.length] as number];
			picked[i] = values[3 * place + column] as number;
		}
		return picked;
	};
	return { bases: pick(bases), strides: pick(strides), columns: which.length };
}

/** Returns the first row that contains each completion token, or -1 for padding: [kept, rows]. */
function owners({ rows, kept, places, firstRow }: PackedSequences): PlainInput {
	const values = new Int32Array(kept * rows);
	for (let j = 0; j < kept; j++) {
		for (let r = 0; r < rows; r++) values[j * rows + r] = firstRow[places[r * kept + j] as number] ?? -1;
	}
	return { shape: [kept, rows], values };
}
