import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dispatchesOf } from '../../../../../src/engines/embedded/compute/dispatches.ts';
import { loopProgram } from '../../../../../src/engines/embedded/model/loopProgram.ts';
import { cudaDialect } from '../../../../../src/engines/embedded/onnx/dialect.ts';
import type { OnnxModel, OnnxNode } from '../../../../../src/engines/embedded/onnx/onnxModel.ts';

const node = (op: string, body?: OnnxNode[]): OnnxNode => ({
	...{ op, domain: '', inputs: [], outputs: [] },
	attributes: body === undefined ? {} : { body: { graph: { nodes: body } as unknown as OnnxModel } },
});

test('counts the dispatches of a program, with each loop body counted once', () => {
	assert.equal(dispatchesOf({ nodes: [node('MatMul'), node('Reshape'), node('MultiHeadAttention')] }), 4);
	assert.equal(
		dispatchesOf({
			nodes: [node('MatMul'), node('Loop', [node('Add'), node('Identity'), node('Loop', [node('Mul')])])],
		}),
		3,
	);
});

test('the decode step in the loop of a sampling program is counted', () => {
	const count = (layers: number) => {
		const shape = { vocabulary: 13, context: 80, width: 24, heads: 3, layers, feedForward: 40 };
		const model = loopProgram(shape, cudaDialect, 'random').model();
		const outside = model.nodes.filter(({ op }) => op === 'MultiHeadAttention').length;
		assert.equal(outside, 0, 'cached attention is only in the loop');
		return dispatchesOf(model);
	};
	// For each layer, the loop contains cached attention and other operators.
	assert.ok(count(3) - count(2) > 20, `${count(2)}, ${count(3)}`);
});
