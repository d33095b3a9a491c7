import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { defaultObjective } from '../../../../src/core/grpo/objective/objective.ts';
import { rolloutMetrics } from '../../../../src/core/grpo/rolloutMetrics.ts';
import { updateMetrics } from '../../../../src/core/grpo/stepMetrics.ts';
import { canonicalName } from '../../../../src/core/metrics/canonicalName.ts';
import { describeMetric, metricNames } from '../../../../src/core/metrics/catalog.ts';
import { metricGroups } from '../../../../src/core/metrics/metricInfo.ts';
import type { lossTypes } from '../../../../src/protocol/recipeKeys/lossTypes.ts';

describe('metric catalog', () => {
	it('describes each metric with its unit and denominator', () => {
		for (const name of metricNames) {
			const info = describeMetric(name);
			assert.ok(info.known && info.title && info.over, name);
			assert.match(info.explanation, /[.:]$/, name);
			assert.ok(metricGroups.includes(info.group));
		}
		assert.equal(new Set(metricNames.map((name) => describeMetric(name).title)).size, metricNames.length);
	});

	it('includes every metric that is computed', () => {
		const computed = {
			...rolloutMetrics([{ rewards: {}, reward: 1, length: 1, truncated: false }], ['accuracy'], {
				dead: [false],
				size: 1,
				scale: 'group',
			}),
			...updateMetrics([], { ...defaultObjective, beta: 1 }),
			...updateMetrics([], { ...defaultObjective, lossType: 'cispo' }),
			...updateMetrics([], { ...defaultObjective, lossType: 'vespo' }),
		};
		for (const name of Object.keys(computed)) assert.ok(describeMetric(name).known, name);
	});

	it('describes derived metric names', () => {
		assert.equal(describeMetric('rewards/a/b/mean').title, 'a/b');
		assert.equal(describeMetric('rewards/accuracy/std').better, null);
		assert.equal(describeMetric('eval/heldout/accuracy').title, 'Held-out accuracy');
		assert.match(describeMetric('eval/heldout/accuracy_low').explanation, /95%/);
		assert.deepEqual(
			[describeMetric('time/generate').unit, describeMetric('time/generate').group],
			['seconds', 'time'],
		);
		assert.equal(describeMetric('throughput/problems').unit, 'rate');
		for (const name of ['rewards/a/mean', 'eval/heldout/accuracy', 'time/generate', 'throughput/problems'])
			assert.equal(describeMetric(name).logScale, false, name);
		assert.equal(describeMetric('grad_norm').logScale, true);
	});

	it('describes GPU metrics', () => {
		const power = describeMetric('gpu/11/power');
		assert.deepEqual([power.title, power.unit, power.group, power.known], ['GPU 11 power', 'watts', 'devices', true]);
		assert.equal(describeMetric('gpu/0/memory_used').unit, 'bytes');
		for (const name of ['gpu/0/fan', 'gpu/x/power', 'gpu/0/constructor', 'gpu/0/power/more', 'gpu/123456/power'])
			assert.equal(describeMetric(name).known, false, name);
	});

	it('distinguishes reward model accuracy from answer accuracy', () => {
		assert.match(describeMetric('accuracy', { stage: 'reward-model' }).explanation, /^Pairs/);
		assert.match(describeMetric('eval/accuracy', { stage: 'reward-model' }).explanation, /^Pairs/);
		assert.match(describeMetric('eval/accuracy', { stage: 'process-reward-model' }).explanation, /^Steps/);
		assert.match(describeMetric('eval/accuracy').explanation, /sampled answers/);
		assert.equal(describeMetric('eval/rewards/accuracies').title, 'Correctly ordered pairs (evaluation)');
		assert.equal(canonicalName('trl', 'eval_rewards/margins'), 'eval/rewards/margins');
		assert.equal(canonicalName('trl', 'rewards/chosen'), 'rewards/chosen');
	});

	it('leaves unknown names unchanged', () => {
		for (const name of ['actor/ppo_kl', '__proto__', 'constructor', '', '<img>', 'time/']) {
			const info = describeMetric(name);
			assert.equal(info.known, false);
			assert.equal(info.title, name);
		}
	});

	it('explains the loss by loss type', () => {
		const loss = (lossType: (typeof lossTypes)[number]) =>
			describeMetric('loss', { stage: 'grpo', lossType, beta: 0 }).explanation;
		assert.match(loss('grpo'), /gives 0: a loss of 0 is expected/);
		for (const type of ['bnpo', 'dapo', 'dr_grpo'] as const)
			assert.match(loss(type), /minus the mean advantage weighted by completion length/);
		assert.match(describeMetric('loss', { stage: 'sft' }).explanation, /likelihood/);
		for (const stage of ['dpo', 'reward-model'] as const)
			assert.match(describeMetric('loss', { stage }).explanation, /0\.693/);
		assert.match(loss('cispo'), /log-probabilities directly/);
		assert.doesNotMatch(loss('dapo'), /KL/);
		assert.match(describeMetric('loss', { lossType: 'dapo', beta: 0.1 }).explanation, /KL term/);
		assert.match(
			describeMetric('reward_std').explanation,
			/sample standard deviation \(n - 1\) of their group plus 1e-4/,
		);
		assert.match(describeMetric('reward_std', { advantages: 'none' }).explanation, /without dividing by the SD/);
	});
});
