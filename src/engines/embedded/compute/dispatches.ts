import { bodiesOf } from '../onnx/graph.ts';
import type { OnnxModel } from '../onnx/onnxModel.ts';

/** Operators that only reinterpret a tensor, or that the runtime computes on the host. */
const withoutDispatch = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Shape', 'Identity', 'Loop']);

/** Attention with a cache is computed in three parts: append, partial sums, sums. */
const partsOf: Readonly<Record<string, number>> = { MultiHeadAttention: 3 };

/**
 * Returns the number of dispatches of a program, counting only operators that a device computes, and those in the body
 * of a loop once. The runtime fuses some, such as x * sigmoid(x).
 */
export function dispatchesOf({ nodes }: Pick<OnnxModel, 'nodes'>): number {
	let count = 0;
	for (const node of nodes) {
		if (!withoutDispatch.has(node.op)) count += partsOf[node.op] ?? 1;
		for (const body of bodiesOf(node)) count += dispatchesOf(body);
	}
	return count;
}
