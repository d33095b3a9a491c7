import type { ModelShape } from '../../shared/modelShape.ts';
import { standardDialect } from '../onnx/dialect.ts';
import { add, compare, where } from '../onnx/elementwise.ts';
import { Graph } from '../onnx/graph.ts';
import { gather } from '../onnx/indexing.ts';
import { leadingRows, shapeOf } from '../onnx/layout.ts';
import { selfAttention, splitHeads } from './attention.ts';
import { elementCount } from './parameters.ts';
import { decoder, head } from './transformer.ts';
import { bindWeights } from './weights.ts';

/**
 * Exports the policy as a standard ONNX file that uses only the default operator set. Maps input_ids [batch, sequence]
 * (int64) to logits [batch, sequence, vocabulary], with parameters as initializers under their own names. The model's
 * context length limits `sequence`. Metadata is stored in metadata_props.
 */
export function exportPolicyOnnx(
	shape: ModelShape,
	parameters: Float32Array,
	metadata: Readonly<Record<string, string>>,
): Uint8Array<ArrayBuffer> {
	const graph = new Graph('float32', standardDialect);
	let offset = 0;
	const weights = bindWeights(shape, (spec) => {
		const end = offset + elementCount(spec.shape);
		const value = graph.initializer(spec.name, 'float32', spec.shape, parameters.subarray(offset, end));
		offset = end;
		return value;
	});
	const ids = graph.input('input_ids', ['batch', 'sequence'], 'int64');
	const length = graph.node('Gather', [shapeOf(ids), graph.constant('int64', [], [1])], [], {
		attributes: { axis: 0 },
	});
	const zero = graph.constant('int64', [], [0]);
	const one = graph.constant('int64', [], [1]);
	const steps = graph.node('Range', [zero, length, one], ['sequence'], { type: 'int64' });
	const key = graph.node('Unsqueeze', [steps, graph.integers([0])], [1, 'sequence']);
	const query = graph.node('Unsqueeze', [steps, graph.integers([1])], ['sequence', 1]);
	const mask = where(compare('LessOrEqual', key, query), graph.scalar(0), graph.scalar(-1e9));
	const embedded = add(gather(weights.tokens, ids), leadingRows(weights.positions, ids, 1));
	const hidden = decoder(weights, embedded, (_, qkv) => selfAttention(shape, splitHeads(shape, qkv), mask));
	graph.output('logits', head(weights, hidden));
	Object.assign(graph.metadata, metadata);
	return graph.encode();
}
