import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { gradientBytes } from '../../../../../src/core/memory/rowBytes.ts';
import { parameterGroups } from '../../../../../src/engines/embedded/model/parameterGroups.ts';
import { parameterCount, parameterSpecs } from '../../../../../src/engines/embedded/model/parameters.ts';
import { gradientProgram } from '../../../../../src/engines/embedded/model/programs.ts';
import { cudaDialect, webgpuDialect } from '../../../../../src/engines/embedded/onnx/dialect.ts';
import { outputsEarly } from '../../../../../src/engines/embedded/onnx/nodeOrder.ts';
import type { OnnxNode } from '../../../../../src/engines/embedded/onnx/onnxModel.ts';
import type { ModelShape } from '../../../../../src/engines/shared/modelShape.ts';
import { packedSizes, programPeak } from '../../../../support/programMemory.ts';
import { type Feed, Program, packedFeeds, sharingRows, tinyShape } from '../computeHarness.ts';

/** 150 million parameters. */
const large: ModelShape = { vocabulary: 24, layers: 12, width: 768, heads: 12, feedForward: 6528, context: 2048 };
const short: ModelShape = { vocabulary: 24, layers: 4, width: 128, heads: 4, feedForward: 512, context: 84 };
const sft = { kind: 'sft' } as const;

/** Bytes needed for a gradient, excluding the weights and their gradients. */
function activations(shape: ModelShape, rows: number, length: number, on: 'cuda' | 'webgpu', early = true): number {
	const groups = on === 'webgpu' ? parameterGroups(parameterSpecs(shape)) : null;
	const dialect = on === 'webgpu' ? webgpuDialect : cudaDialect;
	const graph = gradientProgram(shape, sft, 'float32', dialect, groups);
	graph.outputsEarly = early;
	return programPeak(graph, packedSizes({ rows, length, prompt: 1 })) - 2 * 4 * parameterCount(shape);
}

describe('memory for a gradient, with operators in the order that the runtime uses', () => {
	test('is close to the estimate that determines the size of micro-batches', () => {
		for (const rows of [1, 4]) {
			const ratio = activations(large, rows, 2048, 'cuda') / (rows * gradientBytes(large, 2048));
			assert.ok(ratio > 0.8 && ratio < 1, `${ratio}`);
			// The gradients of all norms are one output, which needs values of all layers.
			const resident = activations(large, rows, 2048, 'webgpu') / (rows * gradientBytes(large, 2048));
			assert.ok(resident > 1 && resident < 1.5, `${resident}`);
		}
		for (const on of ['cuda', 'webgpu'] as const) {
			const ratio = activations(short, 32, 73, on) / (32 * gradientBytes(short, 73));
			assert.ok(ratio > 0.6 && ratio < 1, `${on}: ${ratio}`);
		}
	});

	test('would be several times larger if weight gradients were computed in the order of backpropagation', () => {
		assert.ok(activations(large, 4, 2048, 'cuda', false) > 5 * activations(large, 4, 2048, 'cuda'));
		assert.ok(activations(large, 4, 2048, 'webgpu', false) > 2.5 * activations(large, 4, 2048, 'webgpu'));
	});
});

describe('the order of operators', () => {
	const ordered = (nodes: readonly OnnxNode[], inputs: readonly string[]) => {
		const known = new Set(['', ...inputs]);
		return nodes.every((node) => {
			const ready = node.inputs.every((name) => known.has(name));
			for (const name of node.outputs) known.add(name);
			return ready;
		});
	};

	test('is valid and includes every operator once', () => {
		for (const groups of [null, parameterGroups(parameterSpecs(short))]) {
			const graph = gradientProgram(short, { kind: 'grpo', old: true, kl: true }, 'float32', webgpuDialect, groups);
			const { nodes, inputs, initializers } = graph.model();
			assert.ok(
				ordered(
					nodes,
					[...inputs, ...initializers].map(({ name }) => name),
				),
			);
			graph.outputsEarly = false;
			const before = graph.model().nodes;
			assert.deepEqual(new Set(nodes), new Set(before));
			assert.equal(nodes.length, before.length);
			assert.notDeepEqual(nodes, before);
		}
	});

	test('starts with the operators that several outputs need, then groups the others by output', () => {
		const node = (op: string, inputs: string[], outputs: string[]): OnnxNode => {
			return { op, domain: '', inputs, outputs, attributes: {} };
		};
		const nodes = [
			node('A', ['x'], ['a']),
			node('B', ['a'], ['b']),
			node('C', ['a'], ['top']),
			node('D', ['b'], ['d']),
			node('E', ['d'], ['low']),
		];
		const names = (outputs: string[]) => outputsEarly(nodes, outputs).map(({ op }) => op);
		assert.deepEqual(names(['top', 'low']), ['A', 'B', 'D', 'E', 'C']);
		assert.deepEqual(names(['top', 'low', 'b']), ['A', 'B', 'D', 'E', 'C']);
		assert.deepEqual(outputsEarly([], ['x']), []);
	});

	test('does not change any result', async () => {
		const kept = Math.max(...sharingRows.map(({ tokens, promptLength }) => tokens.length - promptLength));
		const feeds: Record<string, Feed> = {
			...packedFeeds(sharingRows),
			'inverse temperature': { shape: [], values: [0.9] },
			weights: { shape: [sharingRows.length, kept], values: Array(sharingRows.length * kept).fill(0.1) },
		};
		for (const { name, shape } of parameterSpecs(tinyShape)) {
			const size = shape.reduce((a, b) => a * b, 1);
			feeds[name] = { shape, values: Array.from({ length: size }, (_, i) => Math.sin(i * 7.3 + name.length) / 3) };
		}
		const results = async (early: boolean) => {
			const graph = gradientProgram(tinyShape, sft);
			graph.outputsEarly = early;
			return (await Program.compile(graph)).run(feeds);
		};
		assert.deepEqual(await results(true), await results(false));
	});
});
