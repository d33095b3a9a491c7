import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenKl, tokenRatios } from '../../../../src/core/trace/tokenColumns.ts';

test('ratios are of trainer to sampler probabilities, and require both to be recorded', () => {
	assert.equal(tokenRatios({ logprob: [-1] }), null);
	const ratios = tokenRatios({ logprob: [-1, -2, null, -1], oldLogprob: [-1, -1, -1] });
	assert.deepEqual(ratios, [1, Math.exp(1), null, null]);
	assert.deepEqual(tokenRatios({ logprob: [-1e6], oldLogprob: [0] }), [null], 'a ratio that is not finite is null');
});

test("KL is k3 against the reference, never negative, and uses the trainer's values if available", () => {
	assert.equal(tokenKl({ logprob: [-1] }), null);
	const [same, sampler, trainer] =
		tokenKl({ logprob: [-1, -1, -1], oldLogprob: [null, null, -2], refLogprob: [-1, -2, -2] }) ?? [];
	assert.equal(same, 0);
	// r = e^-1 with log r = -1: r - 1 - log r.
	assert.ok(Math.abs((sampler as number) - Math.exp(-1)) < 1e-12);
	assert.equal(trainer, 0);
	for (let i = 0; i < 100; i++) {
		const [value] = tokenKl({ logprob: [-i / 7], refLogprob: [-(100 - i) / 9] }) ?? [];
		assert.ok((value as number) >= 0);
	}
});
