import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { causalMask } from '../../../../src/engines/embedded/compute/causalMask.ts';
import {
	elementCount,
	initialParameters,
	initialValueParameters,
	valueParameterSpecs,
} from '../../../../src/engines/embedded/model/parameters.ts';
import {
	gradientName,
	type ValueVariant,
	valueGradientProgram,
} from '../../../../src/engines/embedded/model/programs.ts';
import { differenceError, distance, type Feed, normals, Program, somePlaces, tinyShape } from './computeHarness.ts';

/**
 * Checks reward-model and critic losses in double precision against the formulas, their derivatives, and central
 * differences.
 */

const [rows, tokens] = [4, 5];
const places = Array.from({ length: rows * tokens }, (_, i) => i);
const specs = valueParameterSpecs(tinyShape);
const random = Random.of('value gradients', 2);
const initial = initialValueParameters(tinyShape, initialParameters(tinyShape, 3));
const flat = Array.from(initial, (x) => x + 0.3 * random.normal());
const all = (value: (i: number) => number): Feed => ({ shape: [rows, tokens], values: places.map(value) });
const scalar = (value: number): Feed => ({ shape: [], values: [value] });

const text: Record<string, Feed> = {
	tokens: { ...all(() => random.int(tinyShape.vocabulary)), type: 'int32' },
	surprises: { shape: [rows, tokens, 1], values: places.map(() => 3 * random.next()) },
	mask: { shape: [tokens, tokens], values: Array.from(causalMask(tokens)) },
};

function parameterFeeds(values: readonly number[]): Record<string, Feed> {
	let offset = 0;
	return Object.fromEntries(
		specs.map(({ name, shape }) => {
			const start = offset;
			offset += elementCount(shape);
			return [name, { shape, values: values.slice(start, offset) }];
		}),
	);
}

const gradientOf = (result: Record<string, number[]>) => specs.flatMap(({ name }) => result[gradientName(name)] ?? []);
const compiled = (variant: ValueVariant) => Program.compile(valueGradientProgram(tinyShape, 'float64', variant));
const labeled = await compiled('labels');
const feeds = { ...parameterFeeds(flat), ...text };
const probabilities = (await labeled.run({ ...feeds, labels: all(() => 0), weights: all(() => 0) })).values as number[];
/** Logits under the test's parameters. */
const scores = probabilities.map((p) => Math.log(p / (1 - p)));

/**
 * Computes the gradient of the sum of coefficient * logit. It uses the cross-entropy loss with label 0, whose
 * derivative with respect to the logit is weight * probability; the test of that loss checks it against finite
 * differences.
 */
const carried = async (coefficients: readonly number[]) =>
	gradientOf(
		await labeled.run({
			...feeds,
			labels: all(() => 0),
			weights: all((i) => (coefficients[i] as number) / (probabilities[i] as number)),
		}),
	);

async function check(
	variant: ValueVariant,
	inputs: Readonly<Record<string, Feed>>,
	expected: { readonly loss: number; readonly coefficients: readonly number[] },
): Promise<void> {
	const program = await compiled(variant);
	const at = (values: readonly number[]) => program.run({ ...parameterFeeds(values), ...text, ...inputs });
	const result = await at(flat);
	assert.ok(distance(result.values ?? [], scores) < 1e-9, 'the output is the logit itself');
	assert.ok(Math.abs((result.loss?.[0] as number) - expected.loss) < 1e-10, `${result.loss?.[0]} ${expected.loss}`);
	const gradient = gradientOf(result);
	const golden = await carried(expected.coefficients);
	const largest = golden.reduce((n, x) => Math.max(n, Math.abs(x)), 0);
	assert.ok(largest > 1e-3);
	assert.ok(distance(gradient, golden) < 1e-9 * largest, `${distance(gradient, golden) / largest}`);
	let offset = 0;
	const some = specs.flatMap(({ shape }) => {
		const size = elementCount(shape);
		offset += size;
		return somePlaces(size, 4, random).map((i) => offset - size + i);
	});
	const error = await differenceError(flat, gradient, some, async (x) => (await at(x)).loss?.[0] as number);
	assert.ok(error < 1e-5, `relative error ${error}`);
	const single = await Program.compile(valueGradientProgram(tinyShape, 'float32', variant));
	const rounded = gradientOf(await single.run({ ...feeds, ...inputs }));
	assert.ok(distance(rounded, gradient) < 1e-5 * largest, `${distance(rounded, gradient) / largest}`);
}

test('Bradley-Terry: loss and gradient match the formula', async () => {
	const ends = [4, 2, 3, 4];
	const weight = 0.5;
	const at = (row: number) => row * tokens + (ends[row] as number);
	const sigmoid = (x: number) => 1 / (1 + Math.exp(-x));
	const margins = [0, 2].map((row) => (scores[at(row)] as number) - (scores[at(row + 1)] as number));
	const coefficients = places.map(() => 0);
	for (const row of [0, 1, 2, 3]) {
		coefficients[at(row)] = (row % 2 === 0 ? -1 : 1) * weight * sigmoid(-(margins[row >> 1] as number));
	}
	await check(
		'pairs',
		{ weights: all((i) => (i === at(Math.floor(i / tokens)) ? 1 : 0)), 'pair weight': scalar(weight) },
		{ loss: -weight * margins.reduce((sum, margin) => sum + Math.log(sigmoid(margin)), 0), coefficients },
	);
});

test('clipped PPO value loss: loss and gradient match the formula', async () => {
	const range = 0.2;
	// Value changes up and down, inside and outside the clip range, toward returns and away from them.
	const moved = [-0.5, -0.1, 0.1, 0.5];
	const old = places.map((i) => (scores[i] as number) - (moved[i % 4] as number));
	const returns = normals(random, rows * tokens, 1).map((x, i) => (scores[i] as number) + x);
	const weights = places.map((i) => (i % 5 === 0 ? 0 : 0.1));
	let loss = 0;
	let clippedOnes = 0;
	const coefficients = places.map((i) => {
		const [v, r, o, w] = [scores, returns, old, weights].map((list) => list[i] as number) as [
			number,
			number,
			number,
			number,
		];
		const bound = Math.min(Math.max(v, o - range), o + range);
		const [free, clipped] = [(v - r) ** 2, (bound - r) ** 2];
		loss += (w / 2) * Math.max(free, clipped);
		if (clipped > free) clippedOnes++;
		// Outside the range the clipped value is constant.
		return clipped > free ? 0 : w * (v - r);
	});
	assert.ok(clippedOnes > 2);
	await check(
		'returns',
		{
			weights: all((i) => weights[i] as number),
			returns: all((i) => returns[i] as number),
			'old values': all((i) => old[i] as number),
			'clip range': scalar(range),
		},
		{ loss, coefficients },
	);
});
