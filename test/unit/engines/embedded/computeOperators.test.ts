import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { rmsNorm } from '../../../../src/engines/embedded/model/rmsNorm.ts';
import {
	add,
	clip,
	compare,
	divide,
	exp,
	log,
	minimum,
	multiply,
	negate,
	sigmoid,
	silu,
	sqrt,
	subtract,
	where,
} from '../../../../src/engines/embedded/onnx/elementwise.ts';
import { gradients } from '../../../../src/engines/embedded/onnx/gradient.ts';
import { Graph, type Value } from '../../../../src/engines/embedded/onnx/graph.ts';
import { gather, oneHot } from '../../../../src/engines/embedded/onnx/indexing.ts';
import {
	concat,
	expandLike,
	leadingRows,
	reshape,
	slice,
	split,
	squeeze,
	transpose,
	unsqueeze,
} from '../../../../src/engines/embedded/onnx/layout.ts';
import { linear, matmul, matmulTransposed } from '../../../../src/engines/embedded/onnx/matmul.ts';
import { reduceMean, reduceSum } from '../../../../src/engines/embedded/onnx/reduction.ts';
import { logSoftmax, softmax } from '../../../../src/engines/embedded/onnx/softmax.ts';
import { differenceError, type Feed, normals, Program } from './computeHarness.ts';

interface Case {
	readonly name: string;
	/** Shapes of the inputs. A name is a size known only at run time: 3 for rows, 2 for tokens. */
	readonly inputs: readonly (readonly (number | 'rows' | 'tokens')[])[];
	/** Whether to keep the arguments of log, sqrt and division away from 0. */
	readonly positive?: boolean;
	build(...inputs: Value[]): Value;
}

const sizes = { rows: 3, tokens: 2 } as const;
const indices = (graph: Graph): Value => graph.constant('int32', [3], [2, 0, 2]);

const cases: readonly Case[] = [
	{ name: 'add, broadcast', inputs: [['rows', 4], [4]], build: (a, b) => add(a, b) },
	{
		name: 'subtract, broadcast',
		inputs: [
			['rows', 1],
			['rows', 4],
		],
		build: (a, b) => subtract(a, b),
	},
	{ name: 'multiply, leading axes', inputs: [['rows', 'tokens', 4], [4]], build: (a, b) => multiply(a, b) },
	{ name: 'square', inputs: [[5]], build: (a) => multiply(a, a) },
	{
		name: 'divide',
		inputs: [
			['rows', 4],
			[1, 4],
		],
		positive: true,
		build: (a, b) => divide(a, b),
	},
	{ name: 'negate', inputs: [[4]], build: (a) => negate(a) },
	{ name: 'exp, log, sqrt', inputs: [[4]], positive: true, build: (a) => add(exp(a), multiply(log(a), sqrt(a))) },
	{ name: 'sigmoid', inputs: [[4]], build: (a) => sigmoid(a) },
	{ name: 'silu', inputs: [['rows', 4]], build: (a) => silu(a) },
	{ name: 'where', inputs: [['rows', 4], [4]], build: (a, b) => where(compare('Less', a, b), a, multiply(b, b)) },
	{
		name: 'minimum',
		inputs: [
			['rows', 4],
			['rows', 4],
		],
		build: (a, b) => minimum(multiply(a, a), b),
	},
	{
		name: 'clip',
		inputs: [[16]],
		build: (a) => multiply(clip(a, a.graph.scalar(-0.5), a.graph.scalar(0.5)), a),
	},
	{ name: 'sum over an axis', inputs: [['rows', 4]], build: (a) => reduceSum(multiply(a, a), [0], false) },
	{ name: 'sum, axis kept', inputs: [['rows', 4]], build: (a) => multiply(reduceSum(a, [-1]), a) },
	{ name: 'mean', inputs: [['rows', 4]], build: (a) => multiply(reduceMean(a, [-1], false), reduceSum(a, [1], false)) },
	{ name: 'reshape', inputs: [['rows', 'tokens', 4]], build: (a) => reshape(a, ['rows', 'tokens', 2, 2]) },
	{ name: 'transpose', inputs: [['rows', 2, 4]], build: (a) => transpose(a, [2, 0, 1]) },
	{
		name: 'expand',
		inputs: [
			['rows', 1],
			['rows', 4],
		],
		build: (a, b) => multiply(expandLike(a, b), b),
	},
	{
		name: 'concat',
		inputs: [
			['rows', 2],
			['rows', 3],
		],
		build: (a, b) => concat([a, multiply(b, b), a], 1),
	},
	{ name: 'slice', inputs: [['rows', 5]], build: (a) => multiply(slice(a, 1, 1, 3), slice(a, 1, 3, 5)) },
	{
		name: 'split, one part unused',
		inputs: [['rows', 6]],
		build: (a) => {
			const [x, , z] = split(a, 3, 1) as [Value, Value, Value];
			return multiply(x, z);
		},
	},
	{ name: 'squeeze and unsqueeze', inputs: [['rows', 1, 4]], build: (a) => unsqueeze(squeeze(a, [1]), [0, 2]) },
	{
		name: 'leading rows',
		inputs: [
			[5, 2],
			['rows', 2],
		],
		build: (a, b) => multiply(leadingRows(a, b, 0), b),
	},
	{
		name: 'linear',
		inputs: [
			['rows', 'tokens', 4],
			[4, 3],
		],
		build: (a, b) => linear(a, b),
	},
	{
		name: 'batched product',
		inputs: [
			['rows', 2, 4],
			['rows', 4, 3],
		],
		build: (a, b) => matmul(a, b),
	},
	{
		name: 'batched product, one factor repeated',
		inputs: [
			['rows', 2, 4],
			[1, 4, 3],
		],
		build: (a, b) => matmul(a, b),
	},
	{
		name: 'product with a transposed factor',
		inputs: [
			['rows', 2, 4],
			['rows', 3, 4],
		],
		build: (a, b) => matmulTransposed(a, b),
	},
	{ name: 'gather, a row twice', inputs: [[4, 3]], build: (a) => gather(a, indices(a.graph)) },
	{ name: 'one-hot', inputs: [[3, 4]], build: (a) => multiply(a, oneHot(indices(a.graph), 4)) },
	{ name: 'softmax', inputs: [['rows', 4]], build: (a) => softmax(a) },
	{ name: 'log-softmax', inputs: [['rows', 4]], build: (a) => logSoftmax(a) },
	{ name: 'rms norm', inputs: [['rows', 'tokens', 4], [4]], build: (a, b) => rmsNorm(a, b) },
];

for (const { name, inputs, positive, build } of cases) {
	test(`gradient of ${name}`, async () => {
		const random = Random.of('operators', name);
		const graph = new Graph('float64');
		const variables = inputs.map((shape, i) => graph.variable(`x${i}`, shape as number[]));
		const y = build(...variables);
		// Weight the outputs with fixed random numbers so that no part of a gradient cancels.
		const weighting = graph.input('weighting', y.shape);
		const loss = reduceSum(multiply(y, weighting), undefined, false);
		gradients(loss, variables).forEach((d, i) => {
			graph.output(`d${i}`, d);
		});
		graph.output('loss', loss);
		graph.output('y', y);
		const program = await Program.compile(graph);
		const concrete = (shape: readonly (number | string)[]): number[] =>
			shape.map((d) => (typeof d === 'number' ? d : sizes[d as keyof typeof sizes]));
		const values = inputs.map((shape) => {
			const count = concrete(shape).reduce((n, d) => n * d, 1);
			return normals(random, count).map((x) => (positive ? 0.5 + Math.abs(x) : x));
		});
		const outputShape = concrete(y.shape);
		const weights = normals(
			random,
			outputShape.reduce((n, d) => n * d, 1),
		);
		const run = (all: readonly (readonly number[])[]) => {
			const feeds: Record<string, Feed> = { weighting: { shape: outputShape, values: weights } };
			inputs.forEach((shape, i) => {
				feeds[`x${i}`] = { shape: concrete(shape), values: all[i] as number[] };
			});
			return program.run(feeds);
		};
		const result = await run(values);
		for (const [i, value] of values.entries()) {
			const gradient = result[`d${i}`] as number[];
			assert.equal(gradient.length, value.length);
			assert.ok(gradient.some((x) => x !== 0));
			const error = await differenceError(
				value,
				gradient,
				value.map((_, k) => k),
				async (changed) => (await run(values.map((v, k) => (k === i ? changed : v)))).loss?.[0] as number,
			);
			assert.ok(error < 1e-7, `relative error ${error} of input ${i}`);
		}
	});
}

test('incompatible shapes are rejected when the program is built', () => {
	const graph = new Graph();
	const a = graph.input('a', ['rows', 3]);
	assert.throws(() => add(a, graph.input('b', [4])), /are incompatible/);
	assert.throws(() => linear(a, graph.input('c', [4, 2])), /Cannot multiply/);
	assert.throws(() => add(a, graph.input('d', ['tokens', 3])), /are incompatible/);
});

test('nodes and constants that no output needs are dropped', () => {
	const graph = new Graph();
	const a = graph.input('a', [2]);
	const b = add(a, 1);
	multiply(exp(b), 3);
	graph.output('b', b);
	const model = graph.model();
	assert.deepEqual(
		model.nodes.map((node) => node.op),
		['Add', 'Identity'],
	);
	assert.equal(model.initializers.length, 1);
});
