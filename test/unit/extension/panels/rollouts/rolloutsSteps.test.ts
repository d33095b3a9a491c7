import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RolloutsSteps } from '../../../../../src/extension/panels/rollouts/rolloutsSteps.ts';

const line = (step: number, values: Record<string, number>) => ({ step, time: 0, stage: 'train', values });

describe('rollout steps', () => {
	it('have the values from the metrics, or else from the rollouts', () => {
		const steps = new RolloutsSteps();
		steps.addSteps([1, 2]);
		steps.addMetrics([line(1, { reward: 0.5 })]);
		steps.snapshot();
		const groups = [
			{ reward: [1, 0, null], dead: false },
			{ reward: [1, 1], dead: true },
		];
		assert.equal(steps.addGroups(1, groups), true);
		assert.equal(steps.addGroups(2, groups), true);
		const news = steps.news();
		assert.deepEqual(
			[news?.step, news?.reward, news?.dead],
			[
				[1, 2],
				[0.5, 0.75],
				[0.5, 0.5],
			],
		);
	});

	it('are reported as new only once, however often they are read', () => {
		const steps = new RolloutsSteps();
		steps.addSteps([1]);
		steps.snapshot();
		assert.equal(steps.addGroups(1, [{ reward: [1], dead: true }]), true);
		assert.notEqual(steps.news(), null);
		assert.equal(steps.addGroups(1, [{ reward: [1], dead: true }]), false);
		assert.equal(steps.news(), null);
		assert.equal(steps.addGroups(1, []), true);
		steps.addMetrics([line(1, { reward: 1, 'groups/dead': 0, frac_reward_zero_std: 0.5 })]);
		steps.news();
		assert.equal(steps.addGroups(1, [{ reward: [5], dead: true }]), false);
	});

	it("use TRL's fraction of groups without spread only until the groups are read, because it may cover the whole batch", () => {
		const steps = new RolloutsSteps();
		steps.addSteps([1]);
		steps.addMetrics([line(1, { reward: 1, frac_reward_zero_std: 0 })]);
		assert.deepEqual(steps.snapshot().dead, [0]);
		assert.equal(steps.addGroups(1, [{ reward: [5], dead: true }]), true);
		assert.deepEqual(steps.news()?.dead, [1]);
	});
});
