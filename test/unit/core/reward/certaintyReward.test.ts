import assert from 'node:assert/strict';
import { test } from 'node:test';
import { certaintyReward } from '../../../../src/core/reward/certaintyReward.ts';
import { selfCertaintyReward } from '../../../../src/core/reward/selfCertaintyReward.ts';
import { sample, worked } from './rewardSamples.ts';

test('the certainty reward is minus the mean entropy, and null if the entropy is unknown', () => {
	const of = (entropy?: number) => certaintyReward(sample(worked('', '7'), entropy === undefined ? {} : { entropy }));
	assert.equal(of(0.5), -0.5);
	assert.ok(Object.is(of(0), 0));
	assert.equal(of(), null);
	assert.equal(of(Number.NaN), null);
});

test('the self-certainty reward is the recorded self-certainty, and null if it is unknown', () => {
	const of = (selfCertainty?: number) =>
		selfCertaintyReward(sample(worked('', '7'), selfCertainty === undefined ? {} : { selfCertainty }));
	assert.equal(of(1.5), 1.5);
	assert.equal(of(0), 0);
	assert.equal(of(), null);
	assert.equal(of(Number.NaN), null);
});
