import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { latentInputs, packLatent } from '../../../../src/engines/embedded/compute/latentLayout.ts';
import type { Sequence } from '../../../../src/engines/embedded/learner.ts';
import { latentGradientProgram } from '../../../../src/engines/embedded/model/latentPrograms.ts';
import { elementCount, initialParameters, parameterSpecs } from '../../../../src/engines/embedded/model/parameters.ts';
import { gradientName, gradientProgram } from '../../../../src/engines/embedded/model/programs.ts';
import { differenceError, distance, type Feed, Program, packedFeeds, somePlaces } from './computeHarness.ts';
import { latentShape, placesOf, referenceLogprobs, withPlaces } from './latentReference.ts';

/**
 * Compares the programs for latent thoughts with a reference that recomputes the whole sequence for each thought,
 * without a cache or padding, and their gradients with finite differences, in double precision.
 */

const specs = parameterSpecs(latentShape);

function parameterFeeds(flat: readonly number[]): Record<string, Feed> {
	let offset = 0;
	return Object.fromEntries(
		specs.map(({ name, shape }) => {
			const start = offset;
			offset += elementCount(shape);
			return [name, { shape, values: flat.slice(start, offset) }];
		}),
	);
}

const numbers = (values: Int32Array | Float32Array | BigInt64Array) => Array.from(values, Number);

/** Weights that differ by position; 0 for padding. */
const weightOf = (row: number, token: number) => (1 + row + 2 * token) / 40;

function latentFeeds(rows: readonly Sequence[], thoughts: number): Record<string, Feed> {
	const batch = packLatent(rows, placesOf(thoughts));
	const feeds: Record<string, Feed> = Object.fromEntries(
		Object.entries(latentInputs(batch)).map(([name, { shape, values }]): [string, Feed] => [
			name,
			{ shape, values: numbers(values), ...(values instanceof Int32Array ? { type: 'int32' as const } : {}) },
		]),
	);
	const shape = [batch.rows, batch.after];
	const weights = rows.flatMap(({ tokens, promptLength }, row) =>
		Array.from({ length: batch.after }, (_, t) => (t < tokens.length - promptLength ? weightOf(row, t) : 0)),
	);
	return {
		...feeds,
		targets: { shape, values: numbers(batch.targets), type: 'int32' },
		weights: { shape, values: weights },
	};
}

// Larger than the initial weights so that every path matters.
const random = Random.of('latent gradients');
const flat = Array.from(initialParameters(latentShape, 3), (x) => x + 0.3 * random.normal());

for (const thoughts of [0, 1, 3]) {
	test(`${thoughts} latent thoughts match the reference, and their gradients match finite differences`, async () => {
		const rows = withPlaces(thoughts);
		const feeds = latentFeeds(rows, thoughts);
		const program = await Program.compile(latentGradientProgram(latentShape, thoughts, 'float64'));
		const result = await program.run({ ...parameterFeeds(flat), ...feeds });
		const { after } = packLatent(rows, placesOf(thoughts));
		let loss = 0;
		for (const [r, row] of rows.entries()) {
			const expected = referenceLogprobs(flat, row, thoughts);
			const own = (result.logprobs as number[]).slice(r * after, r * after + expected.length);
			assert.ok(distance(own, expected) < 1e-9, `row ${r}: ${distance(own, expected)}`);
			for (const [t, logprob] of expected.entries()) loss -= weightOf(r, t) * logprob;
		}
		assert.ok(Math.abs((result.loss?.[0] as number) - loss) < 1e-9);
		const gradient = specs.flatMap(({ name }) => result[gradientName(name)] as number[]);
		let offset = 0;
		const places = specs.flatMap(({ shape }) => {
			const size = elementCount(shape);
			const some = somePlaces(size, 3, random).map((i) => offset + i);
			offset += size;
			return some;
		});
		const lossOf = async (changed: readonly number[]) =>
			(await program.run({ ...parameterFeeds(changed), ...feeds })).loss?.[0] as number;
		const error = await differenceError(flat, gradient, places, lossOf);
		assert.ok(error < 1e-5, `relative error ${error}`);
		if (thoughts > 0) return;
		// Without thoughts, the rows are ordinary text.
		const plain = await Program.compile(gradientProgram(latentShape, { kind: 'sft' }, 'float64'));
		const text = packedFeeds(rows);
		const same = await plain.run({
			...parameterFeeds(flat),
			...text,
			'inverse temperature': { shape: [], values: [1] },
			weights: feeds.weights as Feed,
		});
		const ordinary = specs.flatMap(({ name }) => same[gradientName(name)] as number[]);
		assert.ok(distance(gradient, ordinary) < 1e-9);
	});
}

test('the embedding of the placeholder is never read', async () => {
	const rows = withPlaces(2);
	const program = await Program.compile(latentGradientProgram(latentShape, 2, 'float64'));
	const result = await program.run({ ...parameterFeeds(flat), ...latentFeeds(rows, 2) });
	const { width } = latentShape;
	const tokens = result[gradientName('embedding.tokens')] as number[];
	const largest = (token: number) => Math.max(...tokens.slice(token * width, (token + 1) * width).map(Math.abs));
	const { promptLength, tokens: own } = rows[0] as Sequence;
	assert.equal(largest(own[promptLength - 2] as number), 0);
	for (const token of [own[0], own[promptLength - 4], own[promptLength - 1]])
		assert.ok(largest(token as number) > 1e-4);
});
