import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adamW, clipScale, globalNorm } from '../../../src/engine/compute/adamW.ts';
import type { OptimiserSettings, ParameterSpec } from '../../../src/engine/learner.ts';

const settings: OptimiserSettings = {
	learningRate: 0.1,
	beta1: 0.9,
	beta2: 0.99,
	epsilon: 1e-8,
	weightDecay: 0.5,
	maxGradNorm: 1,
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

// Loshchilov and Hutter 2019, algorithm 2, by hand. Gradient (3, 4, 0), parameters (1, 1, 2).
test('the first update moves each parameter by the learning rate, after decay of matrices', () => {
	const parameters = Float32Array.of(1, 1, 2);
	const first = new Float32Array(3);
	const second = new Float32Array(3);
	adamW(parameters, Float32Array.of(3, 4, 0), first, second, specs, settings, 1, 1);
	// m = 0.1 g; v = 0.01 g²; m / (1 - 0.9) = g; v / (1 - 0.99) = g²: a step of 0.1 sign(g).
	near(first, [0.3, 0.4, 0]);
	near(second, [0.09, 0.16, 0]);
	// 1 - 0.1; 1 (1 - 0.1 * 0.5) - 0.1; 2 (1 - 0.1 * 0.5)
	near(parameters, [0.9, 0.85, 1.9]);
});

test('the second update corrects the bias by the number of updates', () => {
	const parameters = Float32Array.of(0.9, 0.85, 1.9);
	const first = Float32Array.of(0.3, 0.4, 0);
	const second = Float32Array.of(0.09, 0.16, 0);
	adamW(parameters, Float32Array.of(-1, 4, 2), first, second, specs, settings, 2, 1);
	// m = (0.9 * 0.3 - 0.1, 0.9 * 0.4 + 0.4, 0.2) = (0.17, 0.76, 0.2)
	near(first, [0.17, 0.76, 0.2]);
	// v = (0.99 * 0.09 + 0.01, 0.99 * 0.16 + 0.16, 0.04) = (0.0991, 0.3184, 0.04)
	near(second, [0.0991, 0.3184, 0.04]);
	// 1 - 0.9² = 0.19; 1 - 0.99² = 0.0199. Steps: 0.1 * (m / 0.19) / sqrt(v / 0.0199)
	// 0.17 / 0.19 = 0.8947368; sqrt(4.9798995) = 2.2315688; 0.0400945
	// 0.76 / 0.19 = 4; sqrt(16) = 4; 0.1
	// 0.2 / 0.19 = 1.0526316; sqrt(2.0100503) = 1.4177624; 0.0742460
	near(parameters, [0.9 - 0.0400945, 0.85 * 0.95 - 0.1, 1.9 * 0.95 - 0.074246]);
});

test('a gradient of zero still decays moments and weights', () => {
	const parameters = Float32Array.of(1, 1, 1);
	const first = Float32Array.of(0.19, 0, 0);
	const second = Float32Array.of(0.0199, 0, 0);
	adamW(parameters, new Float32Array(3), first, second, specs, settings, 2, 1);
	near(first, [0.171, 0, 0]);
	near(second, [0.019701, 0, 0]);
	// 0.171 / 0.19 = 0.9; sqrt(0.019701 / 0.0199) = 0.9949874; 0.0904534
	near(parameters, [1 - 0.0904534, 0.95, 0.95]);
});

// torch.nn.utils.clip_grad_norm_: coefficient max_norm / (norm + 1e-6), at most 1, one norm over all parameters.
test('gradients are scaled to the limit of one norm over all parameters', () => {
	const gradient = Float32Array.of(3, 4, 12);
	assert.equal(globalNorm(gradient), 13);
	assert.equal(clipScale(13, 1), 1 / 13.000001);
	assert.equal(clipScale(13, 20), 1);
	assert.equal(clipScale(13, 0), 1);
	assert.equal(clipScale(0, 1), 1);
	const first = new Float32Array(3);
	adamW(new Float32Array(3), gradient, first, new Float32Array(3), specs, settings, 1, clipScale(13, 1));
	near(first, [0.3 / 13, 0.4 / 13, 1.2 / 13]);
});

test('the norm is summed in double precision', () => {
	const gradient = new Float32Array(1 << 20).fill(1e-3);
	gradient[0] = 100;
	assert.ok(Math.abs(globalNorm(gradient) - Math.sqrt(1e4 + (2 ** 20 - 1) * 1e-6)) < 1e-5);
});
