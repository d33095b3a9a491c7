import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../../../src/base/random.ts';
import { klEstimate } from '../../../../src/core/grpo/kl.ts';

const near = (actual: number, expected: number, tolerance = 1e-12) =>
	assert.ok(Math.abs(actual - expected) <= tolerance, `${actual} not ${expected}`);

describe('KL estimators (Schulman 2020; k3 is DeepSeekMath equation 4)', () => {
	it('match hand-computed values', () => {
		// policy 0.5, reference 0.25: log r = -ln 2.
		const [p, q] = [Math.log(0.5), Math.log(0.25)];
		near(klEstimate('k1', p, q), Math.LN2);
		near(klEstimate('k2', p, q), Math.LN2 ** 2 / 2);
		near(klEstimate('k3', p, q), 0.5 - 1 + Math.LN2);
		assert.equal(klEstimate('k3', p, p), 0);
	});

	it('average to the KL divergence (k1 and k3), and k3 is never negative', () => {
		const policy = [0.5, 0.3, 0.2];
		const reference = [0.2, 0.2, 0.6];
		const kl = policy.reduce((sum, p, i) => sum + p * Math.log(p / (reference[i] as number)), 0);
		for (const estimator of ['k1', 'k3'] as const) {
			const mean = policy.reduce(
				(sum, p, i) => sum + p * klEstimate(estimator, Math.log(p), Math.log(reference[i] as number)),
				0,
			);
			near(mean, kl);
		}
		for (let i = 0; i < 1000; i++) {
			const random = Random.of('k3', i);
			const logprob = -10 * random.next();
			assert.ok(klEstimate('k3', logprob, logprob + random.normal() * 10 ** -random.int(12)) >= 0);
		}
	});
});
