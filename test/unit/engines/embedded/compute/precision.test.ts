import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../../../../src/base/failure.ts';
import { Random } from '../../../../../src/base/random.ts';
import { deviationOf, firstDifference } from '../../../../../src/engines/embedded/compute/firstDifference.ts';
import { checkResults, probeProviders } from '../../../../../src/engines/embedded/compute/probe.ts';
import type { ProviderName } from '../../../../../src/engines/embedded/compute/providers.ts';
import { type Feeds, Session, Tensors } from '../../../../../src/engines/embedded/compute/runtime.ts';
import { loopProgram } from '../../../../../src/engines/embedded/model/loopProgram.ts';
import { decodeProgram, gradientProgram, logprobsProgram } from '../../../../../src/engines/embedded/model/programs.ts';
import { residentDecodeProgram } from '../../../../../src/engines/embedded/model/residentPrograms.ts';
import { cpuDialect, cudaDialect, withProducts } from '../../../../../src/engines/embedded/onnx/dialect.ts';
import { multiply } from '../../../../../src/engines/embedded/onnx/elementwise.ts';
import { Graph } from '../../../../../src/engines/embedded/onnx/graph.ts';
import { layerLinear } from '../../../../../src/engines/embedded/onnx/matmul.ts';
import {
	elementTypeCodes,
	encodeOnnxModel,
	type HalfType,
	type OnnxModel,
	type OnnxNode,
} from '../../../../../src/engines/embedded/onnx/onnxModel.ts';
import type { PrecisionName } from '../../../../../src/protocol/recipeKeys/torchRecipe.ts';
import { programCases, randomShape } from '../../../../gpu/programs.ts';
import { roundedOnHost } from '../../../../support/roundedOnHost.ts';

const shape = { vocabulary: 7, context: 12, width: 8, heads: 2, layers: 2, feedForward: 12 };
const bfloat16 = withProducts(cudaDialect, 'bfloat16');
const float16 = withProducts(cudaDialect, 'float16');

const isProduct = ({ op }: OnnxNode) => op === 'MatMul' || op === 'Gemm';

/** Splits a program's products into those whose factors and result are converted, and all others. */
function productsOf(
	{ nodes }: OnnxModel,
	type: HalfType,
): { readonly rounded: OnnxNode[]; readonly others: OnnxNode[] } {
	const converted = new Set<string>();
	for (const { op, attributes, outputs } of nodes) {
		if (op === 'Cast' && attributes.to === elementTypeCodes[type]) converted.add(outputs[0] as string);
	}
	const all = nodes.filter(isProduct);
	const rounded = all.filter(({ inputs }) => inputs.every((name) => converted.has(name)));
	for (const { outputs } of rounded) {
		const readers = nodes.filter(({ inputs }) => inputs.includes(outputs[0] as string));
		assert.deepEqual(
			readers.map(({ op, attributes }) => [op, attributes.to]),
			[['Cast', elementTypeCodes.float32]],
			'a product is read only as float32',
		);
	}
	const others = all.filter((node) => !rounded.includes(node));
	for (const { inputs } of others) assert.ok(inputs.every((name) => !converted.has(name)));
	return { rounded, others };
}

describe('programs with 16-bit products', () => {
	test('round the four products of each layer, but not the products of attention and of the output head', () => {
		const { rounded, others } = productsOf(logprobsProgram(shape, bfloat16).model(), 'bfloat16');
		assert.equal(rounded.length, 4 * shape.layers);
		const plain = productsOf(logprobsProgram(shape, cudaDialect).model(), 'bfloat16');
		assert.equal(plain.rounded.length, 0);
		assert.equal(others.length, plain.others.length - rounded.length);
		assert.ok(others.some(({ inputs }) => inputs[1] === 'head'));
		const weights = rounded.map(({ inputs }) => inputs[1]);
		assert.equal(new Set(weights).size, weights.length);
	});

	test('round gradients of these products to bfloat16, but not to float16', () => {
		const rounded = (dialect: typeof bfloat16, type: HalfType) =>
			productsOf(gradientProgram(shape, { kind: 'sft' }, 'float32', dialect).model(), type).rounded.length;
		assert.equal(rounded(bfloat16, 'bfloat16'), 3 * 4 * shape.layers);
		assert.equal(rounded(float16, 'float16'), 4 * shape.layers);
	});

	test('convert each value once', () => {
		const { nodes } = gradientProgram(shape, { kind: 'sft' }, 'float32', bfloat16).model();
		const sources = nodes
			.filter(({ op, attributes }) => op === 'Cast' && attributes.to === elementTypeCodes.bfloat16)
			.map(({ inputs }) => inputs[0]);
		assert.equal(new Set(sources).size, sources.length);
		// An input, a weight and a gradient per product.
		assert.equal(sources.length, 3 * 4 * shape.layers);
	});

	test('decode in float32', () => {
		const codes = (model: OnnxModel): unknown[] =>
			model.nodes.flatMap(({ op, attributes }) => {
				const body = Object.values(attributes).flatMap((value) =>
					typeof value === 'object' && 'graph' in value ? codes(value.graph) : [],
				);
				return op === 'Cast' ? [attributes.to, ...body] : body;
			});
		const isHalf = (code: unknown) => code === elementTypeCodes.bfloat16;
		assert.equal(codes(decodeProgram(shape, bfloat16).model()).filter(isHalf).length, 0);
		for (const choice of ['host', 'random'] as const) {
			assert.equal(codes(residentDecodeProgram(shape, bfloat16, choice).model()).filter(isHalf).length, 0);
		}
		// Prompts: four inputs and four weights per layer.
		assert.equal(codes(loopProgram(shape, bfloat16, 'random').model()).filter(isHalf).length, 8 * shape.layers);
	});

	test('have the same inputs, outputs and value names as the float32 programs', () => {
		const ports = ({ inputs, outputs }: OnnxModel) => ({ inputs, outputs });
		const [half, plain] = [bfloat16, cudaDialect].map((dialect) =>
			gradientProgram(shape, { kind: 'sft' }, 'float32', dialect).observed(),
		) as [OnnxModel, OnnxModel];
		assert.deepEqual(ports(half), ports(plain));
	});
});

describe('rounding', async () => {
	const tensors = await Tensors.load();
	const run = async (model: OnnxModel, feeds: Feeds) => {
		const session = await Session.create(encodeOnnxModel(model), { provider: 'cpu', threads: 1 });
		try {
			return await session.run(feeds);
		} finally {
			await session.release();
		}
	};
	/** Limits relative to the largest element, for the results of one evaluation and for gradients. */
	const limits = { bfloat16: { result: 0.02, gradient: 0.08 }, float16: { result: 0.004, gradient: 0.01 } };

	for (const type of ['bfloat16', 'float16'] as const) {
		test(`${type} changes results and gradients by little more than its last bit`, async () => {
			const cases = (products: HalfType | null) => {
				const random = Random.of('precision', 1);
				return programCases(randomShape(random), random, { tensors, dialect: withProducts(cudaDialect, products) });
			};
			const plain = new Map(cases(null).map(({ name, graph }) => [name, graph]));
			const graphOf = (name: string): Graph => plain.get(name) ?? assert.fail(`no program ${name}`);
			const wanted = [
				'prefill',
				'logprobs',
				'gradient sft',
				'gradient grpo kl',
				'values score',
				'value gradient labels',
			];
			const half = cases(type).filter(({ name }) => wanted.includes(name));
			assert.equal(half.length, wanted.length);
			for (const { name, graph, feeds } of half) {
				const expected = await run(graphOf(name).model(), feeds);
				const actual = await run(roundedOnHost(graph.model(), type), feeds);
				let changed = 0;
				for (const [output, { data }] of Object.entries(expected)) {
					const found = deviationOf(data as Float32Array, actual[output]?.data as Float32Array);
					const limit = limits[type][name.includes('gradient') ? 'gradient' : 'result'];
					assert.ok(found.deviation <= limit * found.largest, `${name}, ${output}: ${JSON.stringify(found)}`);
					if (found.deviation > 1e-5 * found.largest) changed++;
				}
				assert.ok(changed > 0, `${name} is not rounded`);
			}
		});
	}

	test('passes the check at startup', async () => {
		// The CPU has no 16-bit kernels. The runtime removes the conversions to float16, so only the program is tested.
		await checkResults('cpu', tensors, withProducts(cpuDialect, 'float16'));
	});

	test('a wrong operator is named, although its program rounds products and the expected one does not', async () => {
		const build = (dialect: typeof cpuDialect, factor: number) => {
			const graph = new Graph('float32', dialect);
			const weight = graph.input('weight', [3, 2]);
			graph.output('y', multiply(layerLinear(graph.input('x', [2, 3]), weight), factor));
			return graph;
		};
		const expected = { provider: 'cpu', graph: build(cpuDialect, 2) };
		const half = withProducts(cpuDialect, 'float16');
		const numbers = Float32Array.of(0.5, -1, 2, 0.25, 3, -0.75);
		const feeds = { x: tensors.float(numbers, [2, 3]), weight: tensors.float(numbers, [3, 2]) };
		assert.equal(await firstDifference(expected, { provider: 'cpu', graph: build(half, 2) }, feeds, 0.02), null);
		const found = await firstDifference(expected, { provider: 'cpu', graph: build(half, 3) }, feeds, 0.02);
		assert.equal(found?.operator, 'Mul');
	});
});

describe('a precision that a device does not support', () => {
	const opening = async (providers: readonly ProviderName[], precision: PrecisionName, rival = false) => {
		const compared = rival ? { workers: 1, rows: 4 } : null;
		const job = { kind: 'open', shape, providers, precision, rival: compared } as const;
		const error = await probeProviders(job).catch((reason: unknown) => reason);
		assert.ok(error instanceof Failure, `${providers} can be used`);
		return error;
	};

	test('is an error that says what to change', async () => {
		const { message, action, reason } = await opening(['webgpu'], 'bfloat16');
		assert.equal(reason, 'unsupported');
		assert.equal(message, 'Cannot compute in bfloat16 on webgpu: the provider has no kernels for it.');
		assert.equal(action, 'Set "precision" to "float32" or "float16".');
	});

	test('does not hide that the device is missing', async () => {
		const { message, action } = await opening(['directml'], 'float32');
		assert.match(message, /^Cannot use the device directml: /);
		assert.doesNotMatch(action ?? '', /precision/);
	});

	test('is mentioned if other devices may not support it', async (context) => {
		const { message, action } = await opening(['cuda'], 'bfloat16').catch(() => ({ message: '', action: '' }));
		if (message === '') return context.skip('this machine has CUDA');
		assert.match(message, /^Cannot use the device cuda in bfloat16: /);
		assert.match(action ?? '', /Set Up GPU.* Other devices may also need "precision": "float32"\.$/);
	});

	test('is reported with every device that was tried if none was specified', async () => {
		const { message, action } = await opening(['directml', 'webgpu'], 'bfloat16', true);
		assert.equal(
			message,
			'No device here can compute in bfloat16 (directml: the provider has no kernels for it; webgpu: the provider has no kernels for it).',
		);
		assert.equal(action, 'Set "precision" to "float32".');
	});
});
