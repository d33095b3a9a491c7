import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../../src/base/random.ts';
import { clipSide } from '../../../../../src/core/grpo/objective/clipped.ts';
import { defaultObjective, type Objective } from '../../../../../src/core/grpo/objective/objective.ts';
import { rowLoss } from '../../../../../src/core/grpo/objective/rowLoss.ts';

/** Values that follow from the formulas by hand; test/golden/trl.test.ts compares with TRL. */

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);
const clip: Objective = { ...defaultObjective, epsilonHigh: 0.28 };
const row = (ratios: number[], advantage: number, refRatio = 1) => ({
	logprobs: ratios.map((ratio) => Math.log(ratio) - 1),
	oldLogprobs: ratios.map(() => -1),
	refLogprobs: ratios.map((ratio) => Math.log(ratio * refRatio) - 1),
	advantage,
});
const token = (ratio: number, advantage: number, objective: Objective, refRatio = 1) => {
	const { losses, gradients } = rowLoss(row([ratio], advantage, refRatio), objective);
	return { loss: losses[0] as number, gradient: gradients[0] as number };
};

describe('clipped ratios (PPO equation 7 with two ranges, plus beta k3)', () => {
	it('match hand-computed values inside and outside the range', () => {
		const cases: [ratio: number, advantage: number, loss: number, gradient: number][] = [
			[1, 2, -2, -2],
			[1.1, 2, -2.2, -2.2],
			[1.5, 2, -2.56, 0], // clipped at 1.28
			[1.5, -2, 3, 3], // the minimum is the unclipped side
			[0.5, 2, -1, -1],
			[0.5, -2, 1.6, 0], // clipped at 0.8
			[1, 0, 0, 0],
		];
		for (const [ratio, advantage, expected, gradient] of cases) {
			const one = token(ratio, advantage, clip);
			near(one.loss, expected);
			near(one.gradient, gradient);
		}
		// beta 0.1, reference twice as likely: k3 = 2 - 1 - ln 2, with gradient 1 - 2.
		const withKl = token(1, 1, { ...clip, beta: 0.1 }, 2);
		near(withKl.loss, -1 + 0.1 * (1 - Math.LN2));
		near(withKl.gradient, -1 - 0.1);
	});

	it('are limited by delta where clipping does not apply', () => {
		near(token(4, -1, { ...clip, delta: 3 }).loss, 3);
		near(token(4, -1, { ...clip, delta: 3 }).gradient, 0);
		near(token(2, -1, { ...clip, delta: 3 }).gradient, 2);
	});

	it('report the side on which they were clipped', () => {
		assert.equal(clipSide(Math.log(0.5), -1, clip), 'low');
		assert.equal(clipSide(Math.log(0.5), 1, clip), null);
		assert.equal(clipSide(Math.log(1.5), 1, clip), 'high');
		assert.equal(clipSide(Math.log(1.5), -1, clip), null);
		assert.equal(clipSide(Math.log(1.5), 0, clip), null);
	});

	it('use the geometric mean of the token ratios for sequences', () => {
		// The mean of log 4 and log 1/4 is 0: nothing is clipped, although both tokens would be.
		const { losses, gradients } = rowLoss(row([4, 0.25], 1), { ...clip, level: 'sequence' });
		near(losses[0] as number, -1);
		near(gradients[1] as number, -1);
	});
});

describe('other losses', () => {
	it('cispo truncates the weight, but keeps the gradient of the log-probability', () => {
		const objective: Objective = { ...clip, lossType: 'cispo', epsilonHigh: 2 };
		near(token(4, 1, objective).gradient, -2);
		near(token(0.5, 1, objective).gradient, -0.5);
		near(token(4, -1, objective).gradient, 2);
	});

	it('sapo has the gradient of the unclipped surrogate at ratio 1, and a smaller one on both sides', () => {
		const objective: Objective = { ...clip, lossType: 'sapo', sapo: { positive: 1, negative: 4 } };
		near(token(1, 3, objective).gradient, -3);
		near(token(1, -3, objective).gradient, 3);
		assert.ok(Math.abs(token(3, -1, objective).gradient) < 0.02);
		assert.ok(Math.abs(token(3, 1, objective).gradient) > 1);
	});

	it('gmpo clips each token in log space before the geometric mean', () => {
		const objective: Objective = { ...clip, lossType: 'gmpo', epsilonLow: 0.4, epsilonHigh: 0.4 };
		const { losses, gradients } = rowLoss(row([Math.E, Math.exp(-0.2)], 2), objective);
		// (0.4 - 0.2) / 2: the first token is clipped and has no gradient.
		near(losses[0] as number, -2 * Math.exp(0.1));
		assert.deepEqual([...gradients], [-0, losses[0]]);
	});

	it('vespo weights a completion by the ratio of all its tokens', () => {
		const objective: Objective = { ...clip, lossType: 'vespo' };
		near(token(1, 1, objective).gradient, -1);
		// w = 2, k = 2, lambda = 3: 4 e^-3.
		near(rowLoss(row([4, 0.5], 1), objective).gradients[0] as number, -4 * Math.exp(-3));
	});

	it('exclude completions with a negative advantage that the policy has moved away from', () => {
		const objective: Objective = { ...clip, offPolicyThreshold: 0.5, beta: 0.1 };
		near(token(0.4, -1, { ...objective, beta: 0 }).loss, 0);
		near(token(0.4, 1, { ...objective, beta: 0 }).loss, -0.4);
		// The KL term stays.
		near(token(0.4, -1, objective, 2).loss, 0.1 * (1 - Math.LN2));
	});
});

describe('gradients', () => {
	const objectives: readonly Objective[] = [
		{ ...clip, beta: 0.3 },
		{ ...clip, beta: 0.3, unbiasedKl: true },
		{ ...clip, level: 'sequence', beta: 0.3, unbiasedKl: true, epsilonLow: 0.05 },
		{ ...clip, delta: 1.1 },
		{ ...clip, lossType: 'sapo', level: 'sequence' },
		{ ...clip, lossType: 'gmpo', epsilonLow: 0.4, epsilonHigh: 0.4, beta: 0.1 },
	];
	for (const [o, objective] of objectives.entries())
		it(`match finite differences (${objective.lossType}, ${objective.level}, ${o})`, () => {
			for (let i = 0; i < 100; i++) {
				const random = Random.of('objective', o, i);
				const draw = () => Array.from({ length: 3 }, () => -random.next());
				const [logprobs, oldLogprobs, refLogprobs] = [draw(), draw(), draw()];
				const advantage = random.normal();
				const at = (values: number[]) =>
					rowLoss({ logprobs: values, oldLogprobs, refLogprobs, advantage }, objective).losses.reduce(
						(a, b) => a + b,
						0,
					);
				const { gradients } = rowLoss({ logprobs, oldLogprobs, refLogprobs, advantage }, objective);
				for (const [t, gradient] of gradients.entries()) {
					const moved = (by: number) => at(logprobs.map((x, k) => (k === t ? x + by : x)));
					const [up, down, here] = [moved(1e-6), moved(-1e-6), at(logprobs)];
					// At a kink, the two sides differ.
					if (Math.abs(up - here - (here - down)) > 1e-9) continue;
					near(gradient, (up - down) / 2e-6, 1e-7);
				}
			}
		});
});
