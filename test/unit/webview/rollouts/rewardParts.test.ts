import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addsUp } from '../../../../webview/rollouts/rewardParts.ts';

const none = new Map<string, number>();

describe('the check that components add up to a reward', () => {
	it('takes weights into account, skips inapplicable components, and tolerates single precision', () => {
		assert.ok(
			addsUp(
				{
					reward: 1.1,
					rewards: [
						['a', 1],
						['b', 0.1],
						['c', null],
					],
				},
				none,
			),
		);
		assert.ok(
			addsUp(
				{
					reward: 1.5,
					rewards: [
						['a', 1],
						['b', 1],
					],
				},
				new Map([['b', 0.5]]),
			),
		);
		assert.ok(addsUp({ reward: 0.10000000149011612, rewards: [['a', 0.1]] }, none));
		assert.ok(addsUp({ reward: null, rewards: [['a', null]] }, none));
		assert.ok(addsUp({ reward: -2000.01, rewards: [['a', -2000]] }, none));
	});

	it('ignores values that another trainer only records next to the reward', () => {
		assert.ok(
			!addsUp(
				{
					reward: 0.9837,
					rewards: [
						['acc', 1],
						['format', 1],
					],
				},
				none,
			),
		);
		assert.ok(!addsUp({ reward: null, rewards: [['acc', 1]] }, none));
		assert.ok(!addsUp({ reward: 1, rewards: [['acc', null]] }, none));
	});
});
