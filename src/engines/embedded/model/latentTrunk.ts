import type { ModelShape } from '../../shared/modelShape.ts';
import { add } from '../onnx/elementwise.ts';
import type { Graph, Value } from '../onnx/graph.ts';
import { gather } from '../onnx/indexing.ts';
import { append, concat, split } from '../onnx/layout.ts';
import { matmul, matmulTransposed } from '../onnx/matmul.ts';
import { softmax } from '../onnx/softmax.ts';
import { mergeHeads, splitHeads } from './attention.ts';
import { rmsNorm } from './rmsNorm.ts';
import { decoder } from './transformer.ts';
import type { ModelWeights } from './weights.ts';

/** Keys and values of one layer: [rows, heads, tokens, headWidth]. */
interface Entries {
	readonly keys: Value;
	readonly values: Value;
}

/** Entries that queries attend to. `mask` is added to the scores; null if all entries are visible. */
interface Span extends Entries {
	readonly mask: Value | null;
}

/** Computes attention from queries [rows, heads, tokens, headWidth] to several spans: [rows, tokens, width]. */
function attendTo(shape: ModelShape, queries: Value, spans: readonly Span[]): Value {
	const scores = spans.map(({ keys, mask }) => {
		const own = matmulTransposed(queries, keys);
		return mask === null ? own : add(own, mask);
	});
	const weights = softmax(scores.reduce((all, part) => append(all, part, 3)));
	return mergeHeads(shape, matmul(weights, appended(spans).values));
}

/** Returns the entries of several spans as one. */
function appended(spans: readonly Entries[]): Entries {
	return spans.reduce((all, { keys, values }) => ({
		keys: append(all.keys, keys, 2),
		values: append(all.values, values, 2),
	}));
}

/** Returns single entries as one span, all of which is visible. */
function visible(entries: readonly Entries[]): Span {
	const all = (part: keyof Entries) =>
		concat(
			entries.map((one) => one[part]),
			2,
		);
	return { keys: all('keys'), values: all('values'), mask: null };
}

/**
 * The model applied to sequences with continuous thoughts (COCONUT, Hao et al. 2024, arXiv 2412.06769, section 3): text
 * before the thoughts, a start token, a fixed number of thoughts, and text after them. The input of a thought is the
 * final hidden state of the position before it, after the last norm, instead of the embedding of a token. Like every
 * input, it is added to the embedding of its position. Each thought needs the one before it, so the graph contains one
 * pass per thought, each with the keys and values of the earlier ones, and gradients flow through all of them.
 *
 * Text before the thoughts is padded on the left and text after them on the right, so that thoughts are at the same
 * position in every row.
 */
export class LatentTrunk {
	/** Final hidden states of the text after the thoughts: [rows, after, width]. */
	readonly hidden: Value;
	/** [rows, thoughts, width]; null if there are no thoughts. */
	readonly thoughts: Value | null;
	/** Entries of all positions, by layer. */
	readonly entries: readonly Entries[];
	readonly #shape: ModelShape;
	readonly #graph: Graph;
	readonly #weights: ModelWeights;

	/** @param count number of thoughts */
	constructor(shape: ModelShape, graph: Graph, weights: ModelWeights, count: number) {
		this.#shape = shape;
		this.#graph = graph;
		this.#weights = weights;
		const before = this.#before();
		const { entries, thoughts } = this.#think(before, count);
		const after: Span[] = [];
		const mask = graph.input('after mask', ['after', 'after']);
		this.hidden = decoder(weights, this.#text('after'), (layer, qkv) => {
			const { queries, keys, values } = splitHeads(shape, qkv);
			after.push({ keys, values, mask });
			return attendTo(shape, queries, [before[layer] as Span, entries[layer] as Span, after[layer] as Span]);
		});
		this.thoughts = thoughts.length === 0 ? null : concat(thoughts, 1);
		this.entries = before.map((span, layer) => appended([span, entries[layer] as Span, after[layer] as Span]));
	}

	/** Returns the embedded text before or after the thoughts. */
	#text(part: 'before' | 'after'): Value {
		const tokens = this.#graph.input(part, ['rows', part], 'int32');
		return this.#placed(
			gather(this.#weights.tokens, tokens),
			this.#graph.input(`${part} positions`, ['rows', part], 'int32'),
		);
	}

	/** Adds the embeddings of positions. */
	#placed(x: Value, positions: Value): Value {
		return add(x, gather(this.#weights.positions, positions));
	}

	/** Returns the entries of the text before the thoughts, by layer. */
	#before(): Span[] {
		const spans: Span[] = [];
		const padding = this.#graph.input('padding mask', ['rows', 1, 1, 'before']);
		const mask = add(this.#graph.input('before mask', ['before', 'before']), padding);
		decoder(this.#weights, this.#text('before'), (_, qkv) => {
			const { queries, keys, values } = splitHeads(this.#shape, qkv);
			spans.push({ keys, values, mask: padding });
			return attendTo(this.#shape, queries, [{ keys, values, mask }]);
		});
		return spans;
	}

	/** Computes the start token and the thoughts, one at a time. Returns their entries by layer. */
	#think(before: readonly Span[], count: number): { readonly entries: Span[]; readonly thoughts: Value[] } {
		const { norm, tokens } = this.#weights;
		const positions = this.#graph.input('thought positions', ['rows', 1 + count], 'int32');
		const places = count === 0 ? [positions] : split(positions, 1 + count, 1);
		const made: Entries[][] = before.map(() => []);
		const thoughts: Value[] = [];
		let input = gather(tokens, this.#graph.input('start', ['rows', 1], 'int32'));
		for (const [step, place] of places.entries()) {
			const hidden = decoder(this.#weights, this.#placed(input, place), (layer, qkv) => {
				const { queries, keys, values } = splitHeads(this.#shape, qkv);
				const own = made[layer] as Entries[];
				own.push({ keys, values });
				return attendTo(this.#shape, queries, [before[layer] as Span, visible(own)]);
			});
			if (step === count) break;
			input = rmsNorm(hidden, norm);
			thoughts.push(input);
		}
		return { entries: made.map(visible), thoughts };
	}
}
