import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../src/base/failure.ts';
import { AdamW, addInto, clipScale, globalNorm } from '../../../src/engine/compute/adamW.ts';
import type { OptimiserSettings, ParameterSpec } from '../../../src/engine/learner.ts';

const settings: OptimiserSettings = {
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

function near(actual: ArrayLike<number>, expected: readonly number[]): void {
	expected.forEach((x, i) => {
		assert.ok(Math.abs((actual[i] as number) - x) < 1e-6 * Math.max(1, Math.abs(x)), `${actual[i]} instead of ${x}`);
	});
}

/** An optimiser in the middle of its work. */
function optimiser(updates: number, first: readonly number[], second: readonly number[]): AdamW {
	const made = new AdamW(specs);
	made.firstMoments.set(first);
	made.secondMoments.set(second);
	made.updates = updates;
	return made;
}

// Loshchilov and Hutter 2019, algorithm 2, by hand. Gradient (3, 4, 0), parameters (1, 1, 2).
test('the first update moves each parameter by the learning rate, after decay of matrices', async () => {
	const parameters = Float32Array.of(1, 1, 2);
	const adam = new AdamW(specs);
	assert.equal(await adam.step(parameters, Float32Array.of(3, 4, 0), settings), 5);
	assert.equal(adam.updates, 1);
	// m = 0.1 g; v = 0.01 g²; m / (1 - 0.9) = g; v / (1 - 0.99) = g²: a step of 0.1 sign(g).
	near(adam.firstMoments, [0.3, 0.4, 0]);
	near(adam.secondMoments, [0.09, 0.16, 0]);
	// 1 - 0.1; 1 (1 - 0.1 * 0.5) - 0.1; 2 (1 - 0.1 * 0.5)
	near(parameters, [0.9, 0.85, 1.9]);
});

test('the second update corrects the bias by the number of updates', async () => {
	const parameters = Float32Array.of(0.9, 0.85, 1.9);
	const adam = optimiser(1, [0.3, 0.4, 0], [0.09, 0.16, 0]);
	await adam.step(parameters, Float32Array.of(-1, 4, 2), settings);
	// m = (0.9 * 0.3 - 0.1, 0.9 * 0.4 + 0.4, 0.2) = (0.17, 0.76, 0.2)
	near(adam.firstMoments, [0.17, 0.76, 0.2]);
	// v = (0.99 * 0.09 + 0.01, 0.99 * 0.16 + 0.16, 0.04) = (0.0991, 0.3184, 0.04)
	near(adam.secondMoments, [0.0991, 0.3184, 0.04]);
	// 1 - 0.9² = 0.19; 1 - 0.99² = 0.0199. Steps: 0.1 * (m / 0.19) / sqrt(v / 0.0199)
	// 0.17 / 0.19 = 0.8947368; sqrt(4.9798995) = 2.2315688; 0.0400945
	// 0.76 / 0.19 = 4; sqrt(16) = 4; 0.1
	// 0.2 / 0.19 = 1.0526316; sqrt(2.0100503) = 1.4177624; 0.0742460
	near(parameters, [0.9 - 0.0400945, 0.85 * 0.95 - 0.1, 1.9 * 0.95 - 0.074246]);
});

test('a gradient of zero still decays moments and weights', async () => {
	const parameters = Float32Array.of(1, 1, 1);
	const adam = optimiser(1, [0.19, 0, 0], [0.0199, 0, 0]);
	await adam.step(parameters, new Float32Array(3), settings);
	near(adam.firstMoments, [0.171, 0, 0]);
	near(adam.secondMoments, [0.019701, 0, 0]);
	// 0.171 / 0.19 = 0.9; sqrt(0.019701 / 0.0199) = 0.9949874; 0.0904534
	near(parameters, [1 - 0.0904534, 0.95, 0.95]);
	adam.reset();
	assert.deepEqual([...adam.firstMoments, ...adam.secondMoments, adam.updates], [0, 0, 0, 0, 0, 0, 0]);
});

// torch.nn.utils.clip_grad_norm_: coefficient max_norm / (norm + 1e-6), at most 1, one norm over all parameters.
test('gradients are scaled to the limit of one norm over all parameters', async () => {
	const gradient = Float32Array.of(3, 4, 12);
	assert.equal(clipScale(13, 1), 1 / 13.000001);
	assert.equal(clipScale(13, 20), 1);
	assert.equal(clipScale(13, 0), 1);
	assert.equal(clipScale(0, 1), 1);
	const adam = new AdamW(specs);
	assert.equal(await adam.step(new Float32Array(3), gradient, { ...settings, maxGradNorm: 1 }), 13);
	near(adam.firstMoments, [0.3 / 13, 0.4 / 13, 1.2 / 13]);
});

test('a gradient that is not finite changes nothing', async () => {
	for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
		const parameters = Float32Array.of(1, 2, 3);
		const adam = optimiser(4, [1, 1, 1], [1, 1, 1]);
		await assert.rejects(
			adam.step(parameters, Float32Array.of(1, bad, 1), settings),
			(error) => error instanceof Failure && error.reason === 'invalid',
		);
		assert.deepEqual([...parameters, ...adam.firstMoments, adam.updates], [1, 2, 3, 1, 1, 1, 4]);
	}
});

test('the norm is summed in double precision', async () => {
	const gradient = new Float32Array(1 << 20).fill(1e-3);
	gradient[0] = 100;
	assert.ok(Math.abs((await globalNorm(gradient)) - Math.sqrt(1e4 + (2 ** 20 - 1) * 1e-6)) < 1e-5);
});

test('large vectors are worked through in stretches, none left out and none twice', async () => {
	const sizes = [3, (1 << 21) + 5, 7, 1 << 20];
	const large: ParameterSpec[] = sizes.map((n, i) => ({ name: `p${i}`, shape: [n], decay: i % 2 === 0 }));
	const count = sizes.reduce((n, size) => n + size, 0);
	const gradient = new Float32Array(count).fill(1);
	await addInto(gradient, gradient.slice());
	assert.ok(gradient.every((g) => g === 2));
	assert.equal(await globalNorm(gradient), Math.sqrt(4 * count));
	const parameters = new Float32Array(count).fill(1);
	let turns = 0;
	let next = setImmediate(function turn() {
		turns++;
		next = setImmediate(turn);
	});
	const adam = new AdamW(large);
	await adam.step(parameters, gradient, settings);
	clearImmediate(next);
	assert.ok(turns > 0, 'other events had no turn');
	let offset = 0;
	for (const { shape, decay } of large) {
		const end = offset + (shape[0] as number);
		const expected = Math.fround((decay ? 0.95 : 1) - 0.1);
		assert.ok(parameters.subarray(offset, end).every((p) => Math.abs(p - expected) < 1e-6));
		offset = end;
	}
	assert.ok(adam.firstMoments.every((m) => m === Math.fround(0.2)));
});
