import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import {
	adamW,
	addGradients,
	blockRanges,
	blockSize,
	clipScale,
	type UpdateVectors,
} from '../../../../../src/engines/embedded/compute/adamW.ts';
import type { OptimizerSettings, ParameterSpec } from '../../../../../src/engines/embedded/learner.ts';
import { normals } from '../computeHarness.ts';

const settings: OptimizerSettings = {
	learningRate: 0.1,
	beta1: 0.9,
	beta2: 0.99,
	epsilon: 1e-8,
	weightDecay: 0.5,
	maxGradNorm: 0,
};
const specs: readonly ParameterSpec[] = [
	{ name: 'norm', shape: [1], decay: false },
	{ name: 'matrix', shape: [1, 2], decay: true },
];
const whole = { start: 0, end: 3 };

function near(actual: ArrayLike<number>, expected: readonly number[]): void {
	expected.forEach((x, i) => {
		assert.ok(Math.abs((actual[i] as number) - x) < 1e-6 * Math.max(1, Math.abs(x)), `${actual[i]} instead of ${x}`);
	});
}

function vectors(
	parameters: readonly number[],
	gradient: readonly number[],
	first: readonly number[] = [0, 0, 0],
	second: readonly number[] = [0, 0, 0],
): UpdateVectors {
	return {
		parameters: Float32Array.from(parameters),
		gradient: Float32Array.from(gradient),
		firstMoments: Float32Array.from(first),
		secondMoments: Float32Array.from(second),
	};
}

// Loshchilov and Hutter 2019, algorithm 2, by hand. Gradient (3, 4, 0), parameters (1, 1, 2).
test('the first update moves each parameter by the learning rate, after weight decay on matrices', () => {
	const v = vectors([1, 1, 2], [3, 4, 0]);
	adamW(v, specs, settings, 1, 1, whole);
	// m = 0.1 g; v = 0.01 g²; m / (1 - 0.9) = g; v / (1 - 0.99) = g²: a step of 0.1 sign(g).
	near(v.firstMoments, [0.3, 0.4, 0]);
	near(v.secondMoments, [0.09, 0.16, 0]);
	// 1 - 0.1; 1 (1 - 0.1 * 0.5) - 0.1; 2 (1 - 0.1 * 0.5)
	near(v.parameters, [0.9, 0.85, 1.9]);
});

test('the second update corrects the bias by the update count', () => {
	const v = vectors([0.9, 0.85, 1.9], [-1, 4, 2], [0.3, 0.4, 0], [0.09, 0.16, 0]);
	adamW(v, specs, settings, 2, 1, whole);
	// m = (0.9 * 0.3 - 0.1, 0.9 * 0.4 + 0.4, 0.2) = (0.17, 0.76, 0.2)
	near(v.firstMoments, [0.17, 0.76, 0.2]);
	// v = (0.99 * 0.09 + 0.01, 0.99 * 0.16 + 0.16, 0.04) = (0.0991, 0.3184, 0.04)
	near(v.secondMoments, [0.0991, 0.3184, 0.04]);
	// 1 - 0.9² = 0.19; 1 - 0.99² = 0.0199. Steps: 0.1 * (m / 0.19) / sqrt(v / 0.0199)
	// 0.17 / 0.19 = 0.8947368; sqrt(4.9798995) = 2.2315688; 0.0400945
	// 0.76 / 0.19 = 4; sqrt(16) = 4; 0.1
	// 0.2 / 0.19 = 1.0526316; sqrt(2.0100503) = 1.4177624; 0.0742460
	near(v.parameters, [0.9 - 0.0400945, 0.85 * 0.95 - 0.1, 1.9 * 0.95 - 0.074246]);
});

test('a zero gradient still decays moments and weights', () => {
	const v = vectors([1, 1, 1], [0, 0, 0], [0.19, 0, 0], [0.0199, 0, 0]);
	adamW(v, specs, settings, 2, 1, whole);
	near(v.firstMoments, [0.171, 0, 0]);
	near(v.secondMoments, [0.019701, 0, 0]);
	// 0.171 / 0.19 = 0.9; sqrt(0.019701 / 0.0199) = 0.9949874; 0.0904534
	near(v.parameters, [1 - 0.0904534, 0.95, 0.95]);
});

// torch.nn.utils.clip_grad_norm_: coefficient max_norm / (norm + 1e-6), at most 1, one norm over all parameters.
test('gradients are clipped to one norm over all parameters', () => {
	assert.equal(clipScale(13, 1), 1 / 13.000001);
	assert.equal(clipScale(13, 20), 1);
	assert.equal(clipScale(13, 0), 1);
	assert.equal(clipScale(0, 1), 1);
	const v = vectors([0, 0, 0], [3, 4, 12]);
	adamW(v, specs, settings, 1, clipScale(13, 1), whole);
	near(v.firstMoments, [0.3 / 13, 0.4 / 13, 1.2 / 13]);
});

test('ranges cover every element once and start at block boundaries', () => {
	for (const count of [1, blockSize, blockSize + 1, 10 * blockSize - 7]) {
		for (const parts of [1, 2, 3, 7, 100]) {
			const ranges = blockRanges(count, parts);
			assert.ok(ranges.length <= parts);
			let next = 0;
			for (const { start, end } of ranges) {
				assert.equal(start, next);
				assert.equal(start % blockSize, 0);
				assert.ok(end > start);
				next = end;
			}
			assert.equal(next, count);
		}
	}
});

test('sums, norms and updates are bit-identical however the vectors are split', () => {
	const random = Random.of('ranges');
	const large: ParameterSpec[] = [70_000, 3, 150_000, 1, 50_000].map((n, i) => ({
		name: `p${i}`,
		shape: [n],
		decay: i % 2 === 0,
	}));
	const count = large.reduce((n, spec) => n + (spec.shape[0] as number), 0);
	const gradients = Array.from({ length: 3 }, () => Float32Array.from(normals(random, count)));
	const start = Float32Array.from(normals(random, count));
	const run = (parts: number, waves: readonly number[]) => {
		const v: UpdateVectors = {
			parameters: start.slice(),
			gradient: new Float32Array(count).fill(7),
			firstMoments: new Float32Array(count),
			secondMoments: new Float32Array(count),
		};
		const squares = blockRanges(count, parts).flatMap((range) => {
			let used = 0;
			let sums = new Float64Array(0);
			for (const wave of waves) {
				sums = addGradients(v.gradient, gradients.slice(used, used + wave), range, used === 0);
				used += wave;
			}
			return [...sums];
		});
		for (const range of blockRanges(count, parts)) adamW(v, large, settings, 3, 0.5, range);
		return { v, squares };
	};
	const expected = run(1, [3]);
	const [a, b, c] = gradients as [Float32Array, Float32Array, Float32Array];
	const total = a.map((x, i) => Math.fround(Math.fround(x + (b[i] as number)) + (c[i] as number)));
	assert.deepEqual(expected.v.gradient, total);
	const exact = total.reduce((sum, x) => sum + x * x, 0);
	assert.ok(Math.abs(expected.squares.reduce((sum, x) => sum + x, 0) - exact) < 1e-9 * exact);
	assert.deepEqual(run(2, [3]), expected);
	assert.deepEqual(run(5, [1, 2]), expected);
});

test('the norm is accumulated in double precision', () => {
	const gradient = new Float32Array(1 << 20).fill(1e-3);
	gradient[0] = 100;
	const squares = addGradients(new Float32Array(1 << 20), [gradient], { start: 0, end: 1 << 20 }, true);
	const norm = Math.sqrt(squares.reduce((sum, x) => sum + x, 0));
	assert.ok(Math.abs(norm - Math.sqrt(1e4 + (2 ** 20 - 1) * 1e-6)) < 1e-5);
});
