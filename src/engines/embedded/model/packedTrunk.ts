import { headGroups, recomputesLayers } from '../../../core/memory/rowBytes.ts';
import type { ModelShape } from '../../shared/modelShape.ts';
import { add, multiply } from '../onnx/elementwise.ts';
import type { Graph, Value } from '../onnx/graph.ts';
import { gather, take } from '../onnx/indexing.ts';
import { concat, leading, padRows, reshape, reshapeLike, tail } from '../onnx/layout.ts';
import { matmul, transposedProduct } from '../onnx/matmul.ts';
import type { ElementType, Shape } from '../onnx/onnxModel.ts';
import { reduceSum } from '../onnx/reduction.ts';
import { attention } from './attention.ts';
import { type ExpandedInput, expandBatch } from './expandBatch.ts';
import { decoder } from './transformer.ts';
import type { TrunkWeights } from './weights.ts';

/**
 * The model applied to a packed micro-batch without padding (`pack`). Everything except attention is computed once per
 * token, and each prompt is processed once for all of its rows. For attention, tokens are gathered into rectangles:
 * prefixes ([groups, heads, prefix, headWidth]) and rows (queries [rows, heads, kept, headWidth], which attend to the
 * prefix and then to the row itself: seen = prefix + kept). Unused positions refer to the last token, which is the
 * padding token. No loss depends on the padding token, so its gradients are zero, and masks hide it.
 */

const int = (heads: number) =>
	({
		tokens: ['places'],
		targets: ['rows', 'kept'],
		positions: ['places'],
		'by position': ['rows', 'positions'],
		queries: ['rows', heads, 'kept'],
		keys: ['rows', heads, 'seen'],
		values: ['rows', heads, 'seen'],
		'prefix queries': ['groups', heads, 'prefix'],
		'prefix keys': ['groups', heads, 'prefix'],
		'prefix values': ['groups', heads, 'prefix'],
		outputs: ['places', heads],
		'own outputs': ['own', heads],
		'row places': ['rows', heads, 'kept'],
		'own row places': ['rows', heads, 'kept'],
		'prefix places': ['groups', heads, 'prefix'],
		gradients: ['places', 3, heads],
		'last gradients': ['places', 3, heads],
		'row tokens': ['rows', 'kept'],
		cells: ['kept', 'rows'],
		columns: ['own'],
		'own seen': ['kept', 'rows', heads],
	}) satisfies Record<string, Shape>;

/** Inputs that `packedInputs` or, if the program expands them itself, `compactInputs` builds from a micro-batch. */
export class PackedBatch {
	readonly shape: ModelShape;
	readonly tokens: Value;
	readonly targets: Value;
	readonly #inputs: Readonly<Record<keyof ReturnType<typeof int>, Value>>;
	readonly #shared: Value;
	readonly #prefixSize: Value;
	readonly #members: Value;
	readonly #sharers: Value;
	readonly #mask: Value;
	readonly #prefixMask: Value;

	constructor(shape: ModelShape, graph: Graph) {
		const expanded = graph.dialect.expandsBatches ? expandBatch(graph, shape) : null;
		const input = (name: string, size: Shape, type?: ElementType) =>
			expanded?.[name as ExpandedInput] ?? graph.input(name, size, type);
		this.shape = shape;
		this.#inputs = Object.fromEntries(
			Object.entries(int(shape.heads)).map(([name, size]) => [name, input(name, size, 'int32')]),
		) as Record<keyof ReturnType<typeof int>, Value>;
		this.tokens = this.#inputs.tokens;
		this.targets = this.#inputs.targets;
		this.#shared = input('shared', [1], 'int64');
		this.#prefixSize = input('prefix size', [1], 'int64');
		this.#members = input('members', ['rows', 'groups']);
		this.#sharers = input('sharers', ['kept', 'rows', 'rows']);
		this.#mask = input('mask', ['rows', 1, 'kept', 'seen']);
		this.#prefixMask = input('prefix mask', ['prefix', 'prefix']);
	}

	/** Returns the final hidden states of the rows' own tokens: [own, width]. */
	encode(weights: TrunkWeights): Value {
		const embedded = add(gather(weights.tokens, this.tokens), this.#positions(weights.positions));
		const last = weights.blocks.length - 1;
		return decoder(weights, embedded, (layer, qkv) => this.#attend(qkv, layer === last), {
			keep: (x) => tail(x, 0, this.#shared, 'own'),
			recomputes: recomputesLayers(this.shape),
		});
	}

	/** Maps [own] or [own, n] to [rows, kept] or [rows, kept, n]. */
	toRows(x: Value): Value {
		const { 'row tokens': tokens, cells, columns } = this.#inputs;
		const { graph } = x;
		const rest = x.shape.slice(1) as number[];
		const size = rest[0] ?? 1;
		const back = (d: Value): Value => {
			const byColumn = take(reshape(d, ['cells', size]), cells);
			const summed = reshape(matmul(this.#sharers, byColumn), ['cells', size]);
			const zero = graph.constant(x.type, [1, size], new Array(size).fill(0));
			return reshape(take(concat([summed, zero], 0), columns), ['own', ...rest]);
		};
		return graph.composite([x], () => take(x, tokens), [back]);
	}

	#positions(table: Value): Value {
		const { positions, 'by position': byPosition } = this.#inputs;
		const backward = (d: Value): Value => padRows(reduceSum(take(d, byPosition), [0], false), table);
		return table.graph.composite([table], () => take(table, positions), [backward]);
	}

	/**
	 * Maps [places, 3 width] to [places, width]. After the `last` layer, only the rows' own tokens are needed: [own,
	 * width].
	 */
	#attend(qkv: Value, last: boolean): Value {
		const { queries, keys, values, prefixQueries, prefixKeys, prefixValues } = this.#heads(qkv, last);
		const groups = headGroups(this.shape);
		const rows = attention({ queries: this.#scaled(queries), keys, values }, this.#mask, groups);
		if (last) return this.#merge(rows);
		const prefixHeads = { queries: this.#scaled(prefixQueries), keys: prefixKeys, values: prefixValues };
		return this.#merge(rows, attention(prefixHeads, this.#prefixMask, groups));
	}

	/** Scales queries by 1/sqrt(headWidth) (Vaswani 2017, eq. 1). */
	#scaled(queries: Value): Value {
		return multiply(queries, 1 / Math.sqrt(this.#headWidth));
	}

	get #headWidth(): number {
		return this.shape.width / this.shape.heads;
	}

	/** Reshapes any tensor to head-size slices: [..., headWidth]. */
	#slices(x: Value): Value {
		return reshape(x, ['slices', this.#headWidth]);
	}

	#heads(qkv: Value, last: boolean) {
		const inputs = this.#inputs;
		const names = ['queries', 'keys', 'values', 'prefix queries', 'prefix keys', 'prefix values'] as const;
		const build = () => {
			const slices = this.#slices(qkv);
			return names.map((name) => take(slices, inputs[name]));
		};
		const backward = (...d: Value[]): Value => {
			const [dq, dk, dv, dpq, dpk, dpv] = d as [Value, Value, Value, Value, Value, Value];
			const zero = qkv.graph.constant(qkv.type, [1, this.#headWidth], new Array(this.#headWidth).fill(0));
			const [keys, values] = [this.#ofGroups(dk, dpk), this.#ofGroups(dv, dpv)];
			const parts = [dq, this.#ofSharers(dk), this.#ofSharers(dv)].map((part) => this.#slices(part));
			const prefixes = (last ? [keys, values] : [add(keys, dpk), add(values, dpv), dpq]).map((part) =>
				this.#slices(part),
			);
			const all = concat([...parts, zero, ...prefixes], 0);
			return reshape(take(all, inputs[last ? 'last gradients' : 'gradients']), ['places', 3 * this.shape.width]);
		};
		const [queries, keys, values, prefixQueries, prefixKeys, prefixValues] = qkv.graph.composites([qkv], build, [
			backward,
		]) as [Value, Value, Value, Value, Value, Value];
		return { queries, keys, values, prefixQueries, prefixKeys, prefixValues };
	}

	/**
	 * Returns the part of a gradient for the rows' own tokens, summed over the rows that share each token: [kept, rows,
	 * width].
	 */
	#ofSharers(d: Value): Value {
		const byColumn = take(this.#slices(d), this.#inputs['own seen']);
		return matmul(this.#sharers, reshape(byColumn, ['kept', 'rows', this.shape.width]));
	}

	/** Returns the part of a gradient for the prefix, summed over the rows in each group. */
	#ofGroups(d: Value, like: Value): Value {
		const part = leading(d, 2, this.#prefixSize, 'prefix');
		const flat = part.graph.node('Flatten', [part], ['rows', 'slots'], { attributes: { axis: 1 } });
		return reshapeLike(transposedProduct(this.#members, flat), like);
	}

	/** Merges attention outputs of rows and prefixes by token. */
	#merge(rows: Value, prefixes?: Value): Value {
		const inputs = this.#inputs;
		const { width } = this.shape;
		if (prefixes === undefined) {
			const build = () => reshape(take(this.#slices(rows), inputs['own outputs']), ['own', width]);
			return rows.graph.composite([rows], build, [(d) => take(this.#slices(d), inputs['own row places'])]);
		}
		const build = () => {
			const slices = concat([this.#slices(prefixes), this.#slices(rows)], 0);
			return reshape(take(slices, inputs.outputs), ['places', width]);
		};
		return rows.graph.composite([rows, prefixes], build, [
			(d) => take(this.#slices(d), inputs['row places']),
			(d) => take(this.#slices(d), inputs['prefix places']),
		]);
	}
}
