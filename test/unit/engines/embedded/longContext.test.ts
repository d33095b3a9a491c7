import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { gradientBytes, headGroups, recomputesLayers } from '../../../../src/core/memory/rowBytes.ts';
import { causalMask } from '../../../../src/engines/embedded/compute/causalMask.ts';
import type { ParameterSpec } from '../../../../src/engines/embedded/learner.ts';
import {
	elementCount,
	initialParameters,
	initialValueParameters,
	parameterSpecs,
	valueParameterSpecs,
} from '../../../../src/engines/embedded/model/parameters.ts';
import {
	gradientName,
	gradientProgram,
	logprobsProgram,
	prefillProgram,
	valueGradientProgram,
} from '../../../../src/engines/embedded/model/programs.ts';
import type { Graph } from '../../../../src/engines/embedded/onnx/graph.ts';
import type { ModelShape } from '../../../../src/engines/shared/modelShape.ts';
import { distance, type Feed, Program, packedFeeds, sharingRows, tinyShape } from './computeHarness.ts';

/**
 * Programs for long contexts process heads in groups and recompute layers for the gradient. Their results must match
 * those of the same model with a short context, whose gradients are compared with finite differences elsewhere.
 */

const short: ModelShape = { ...tinyShape, layers: 3 };
const long: ModelShape = { ...short, context: 16_384 };

type Specs = (shape: ModelShape) => readonly ParameterSpec[];
const random = Random.of('long contexts', 1);

/** The same random parameters for both contexts: the additional positions are not used. */
function parametersOf(specs: Specs, initial: Float32Array): Record<'short' | 'long', Record<string, Feed>> {
	const forShort: Record<string, Feed> = {};
	const forLong: Record<string, Feed> = {};
	let offset = 0;
	for (const [i, { name, shape }] of specs(short).entries()) {
		const size = elementCount(shape);
		const values = Array.from(initial.subarray(offset, offset + size), (x) => x + 0.3 * random.normal());
		offset += size;
		forShort[name] = { shape, values };
		const longer = specs(long)[i]?.shape as readonly number[];
		const rest = new Array<number>(elementCount(longer) - size).fill(0);
		forLong[name] = { shape: longer, values: [...values, ...rest] };
	}
	return { short: forShort, long: forLong };
}

async function compare(
	program: (shape: ModelShape) => Graph,
	parameters: Record<'short' | 'long', Record<string, Feed>>,
	inputs: Record<string, Feed>,
): Promise<string[]> {
	const [expected, actual] = await Promise.all([
		Program.compile(program(short)).then((compiled) => compiled.run({ ...parameters.short, ...inputs })),
		Program.compile(program(long)).then((compiled) => compiled.run({ ...parameters.long, ...inputs })),
	]);
	assert.deepEqual(Object.keys(actual), Object.keys(expected));
	for (const [name, values] of Object.entries(expected)) {
		const found = (actual[name] ?? []).slice(0, values.length);
		const largest = values.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
		assert.ok(largest > 0, `${name} is zero`);
		assert.ok(distance(found, values) <= 1e-5 * largest, `${name}: ${distance(found, values) / largest}`);
		assert.ok(
			(actual[name] ?? []).slice(values.length).every((x) => x === 0),
			`${name}: gradient of an unused position`,
		);
	}
	return Object.keys(expected);
}

/** Number of operators of a type. */
const countOf = (graph: Graph, op: string) => graph.model().nodes.filter((node) => node.op === op).length;

describe('a long context', () => {
	const policy = parametersOf(parameterSpecs, initialParameters(short, 3));
	const tokens = Math.max(...sharingRows.map(({ tokens: all, promptLength }) => all.length - promptLength));
	const rows = sharingRows.length;
	const perToken = (value: () => number): Feed => ({
		shape: [rows, tokens],
		values: Array.from({ length: rows * tokens }, value),
	});
	const text: Record<string, Feed> = {
		...packedFeeds(sharingRows),
		'inverse temperature': { shape: [], values: [0.9] },
	};

	test('uses a different program than a short one', () => {
		assert.deepEqual([headGroups(short), recomputesLayers(short)], [1, false]);
		assert.deepEqual([headGroups(long), recomputesLayers(long)], [short.heads, true]);
		const softmaxes = (shape: ModelShape) => countOf(gradientProgram(shape, { kind: 'sft' }), 'Softmax');
		// Attention of rows and prompts per layer; the last layer needs no prompts.
		assert.equal(softmaxes(short), 2 * 2 + 1);
		// Once per head. All layers but the last are computed twice.
		assert.equal(softmaxes(long), short.heads * (2 * 2 * 2 + 1));
	});

	test('keeps less in memory for a gradient', () => {
		const large: ModelShape = { vocabulary: 128, context: 2048, width: 768, heads: 12, layers: 12, feedForward: 3072 };
		assert.equal(headGroups(large), 2);
		assert.ok(recomputesLayers(large));
		assert.ok(gradientBytes(large, 2048) < 1.1e9);
		// With the context of most recipes, nothing changes.
		assert.ok(!recomputesLayers({ ...large, context: 256 }));
		assert.equal(headGroups({ ...large, context: 1024 }), 1);
	});

	test('has the same gradients', async () => {
		const weights = perToken(() => random.next() / 10);
		const sft = await compare((shape) => gradientProgram(shape, { kind: 'sft' }), policy, { ...text, weights });
		assert.ok(parameterSpecs(short).every(({ name }) => sft.includes(gradientName(name))));
		await compare((shape) => gradientProgram(shape, { kind: 'grpo', old: true, kl: true }), policy, {
			...text,
			weights,
			advantages: { shape: [rows, 1], values: [1.1, -0.8, -0.4, 0.7, -1.2] },
			'old logprobs': perToken(() => -2 + random.normal() / 10),
			'reference logprobs': perToken(() => -2 + random.normal() / 10),
			'ratio low': { shape: [], values: [0.2] },
			'ratio high': { shape: [], values: [3] },
			beta: { shape: [], values: [0.3] },
		});
	});

	test('has the same log-probabilities, first tokens and value gradients', async () => {
		await compare(logprobsProgram, policy, text);
		const [count, length] = [4, 5];
		const ids = Array.from({ length: count * length }, () => random.int(short.vocabulary));
		const sequences: Record<string, Feed> = {
			tokens: { shape: [count, length], values: ids, type: 'int32' },
			mask: { shape: [length, length], values: Array.from(causalMask(length)) },
		};
		const last: Feed = {
			shape: [count],
			values: Array.from({ length: count }, (_, i) => (i + 1) * length - 1),
			type: 'int32',
		};
		await compare(prefillProgram, policy, { ...sequences, last });
		const heads = parametersOf(valueParameterSpecs, initialValueParameters(short, initialParameters(short, 3)));
		const each = (value: () => number): Feed => ({ shape: [count, length], values: ids.map(value) });
		await compare((shape) => valueGradientProgram(shape), heads, {
			...sequences,
			surprises: { shape: [count, length, 1], values: ids.map(() => 3 * random.next()) },
			labels: each(() => random.int(2)),
			weights: each(() => 0.1),
		});
	});
});
