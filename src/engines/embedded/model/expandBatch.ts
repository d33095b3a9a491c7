import type { ModelShape } from '../../shared/modelShape.ts';
import { add, cast, compare, multiply, subtract, where } from '../onnx/elementwise.ts';
import type { Graph, Value } from '../onnx/graph.ts';
import { concat, reshape, unsqueeze } from '../onnx/layout.ts';
import type { Shape } from '../onnx/onnxModel.ts';
import { masked } from './attention.ts';

/** Inputs of a packed micro-batch that a program can compute from small ones. */
export type ExpandedInput =
	| 'mask'
	| 'queries'
	| 'keys'
	| 'values'
	| 'outputs'
	| 'own outputs'
	| 'row places'
	| 'own row places'
	| 'gradients'
	| 'last gradients'
	| 'sharers'
	| 'own seen';

/** Computes the large inputs of a packed micro-batch from small ones, which it declares (compute/compactLayout.ts). */
export function expandBatch(
	graph: Graph,
	{ heads }: Pick<ModelShape, 'heads'>,
): Readonly<Record<ExpandedInput, Value>> {
	const input = (name: string, shape: Shape) => graph.input(name, shape, 'int32');
	const integer = (n: number) => graph.constant('int32', [], [n]);
	const numbers = Array.from({ length: heads }, (_, h) => h);
	/** Slices of all heads along the second-to-last axis: [1, heads, 1]. */
	const slicesOf = (which: number) =>
		graph.constant(
			'int32',
			[1, heads, 1],
			numbers.map((h) => which * heads + h),
		);
	const headNumbers = graph.constant('int32', [heads], numbers);

	const first = multiply(reshape(input('first', ['rows', 'kept']), ['rows', 1, 'kept']), integer(heads));
	const places = add(first, slicesOf(0));
	const seen = multiply(reshape(input('seen', ['rows', 'seen']), ['rows', 1, 'seen']), integer(3 * heads));

	/** The slice of head h is base + h stride. */
	const eachHead = (name: string, shape: Shape) => {
		const [base, stride] = [`${name} bases`, `${name} strides`].map((part) =>
			unsqueeze(input(part, shape), [shape.length]),
		);
		return add(base as Value, multiply(stride as Value, headNumbers));
	};
	// Avoids slicing, for which WebGPU has no integer kernel.
	const keysAndValues = eachHead('key and value', ['places', 2]);
	const withQueries = (name: string) =>
		concat([reshape(eachHead(name, ['places']), ['places', 1, heads]), keysAndValues], 1);

	const ofPrefix = compare(
		'Greater',
		reshape(input('prefix slots', ['seen']), [1, 1, 1, 'seen']),
		reshape(input('prefix lengths', ['rows']), ['rows', 1, 1, 1]),
	);
	const later = compare(
		'Greater',
		reshape(input('own slots', ['seen']), [1, 1, 1, 'seen']),
		reshape(input('kept numbers', ['kept']), [1, 1, 'kept', 1]),
	);
	const [hidden, visible] = [graph.scalar(masked), graph.scalar(0)];

	const owners = reshape(input('owners', ['kept', 'rows']), ['kept', 1, 'rows']);
	const rows = reshape(input('row numbers', ['rows']), [1, 'rows', 1]);
	const starts = add(
		reshape(input('kept starts', ['kept']), ['kept', 1, 1]),
		reshape(input('row starts', ['rows']), [1, 'rows', 1]),
	);
	return {
		mask: where(ofPrefix, hidden, where(later, hidden, visible)),
		queries: add(multiply(first, integer(3)), slicesOf(0)),
		keys: add(seen, slicesOf(1)),
		values: add(seen, slicesOf(2)),
		outputs: eachHead('output', ['places']),
		'own outputs': eachHead('own output', ['own']),
		'row places': places,
		'own row places': subtract(places, input('shared slices', [])),
		gradients: withQueries('query'),
		'last gradients': withQueries('last query'),
		sharers: cast(compare('Equal', owners, rows), graph.floatType),
		'own seen': add(starts, reshape(input('head starts', [heads]), [1, 1, heads])),
	};
}
