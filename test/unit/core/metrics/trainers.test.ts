import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { canonicalName, knownName, trainers } from '../../../../src/core/metrics/canonicalName.ts';
import { describeMetric } from '../../../../src/core/metrics/catalog.ts';

/** Fills in a pattern's placeholders. */
const filled = (pattern: string) => pattern.replaceAll(/\{\w+\}/g, 'x');

describe("other trainers' metric names", () => {
	it('all map to catalog metrics', () => {
		for (const { title, names } of trainers) {
			for (const { name, canonical } of names) {
				const info = describeMetric(filled(canonical));
				assert.ok(info.known, `${title}: ${name} -> ${canonical}`);
			}
		}
	});

	it('are recognized as written, under any name of their format', () => {
		for (const { formats, names } of trainers) {
			for (const { name, canonical, akin } of names) {
				const foreign = filled(name);
				const known = knownName(formats[0] as string, foreign);
				assert.ok(known, foreign);
				if (names.findIndex((entry) => filled(entry.name) === foreign) !== names.findIndex((e) => e.name === name))
					continue;
				if (known.entry.name !== name) continue;
				assert.equal(canonicalName(formats[0] as string, foreign), akin ? foreign : filled(canonical));
			}
		}
		assert.equal(canonicalName('prime-rl', 'optim/lr'), 'learning_rate');
		assert.equal(canonicalName('primeRl', 'optim/lr'), 'learning_rate');
	});

	it('contain every placeholder of their canonical name', () => {
		for (const { names } of trainers) {
			for (const { name, canonical } of names) {
				for (const [part] of canonical.matchAll(/\{\w+\}/g)) assert.ok(name.includes(part), `${name} -> ${canonical}`);
			}
		}
	});

	it('include old and new TRL names, in logs and in TensorBoard', () => {
		for (const [name, canonical] of [
			['reward', 'reward'],
			['completion_length', 'completions/mean_length'],
			['rewards/exact_answer', 'rewards/exact_answer/mean'],
			['rewards/exact_answer/mean', 'rewards/exact_answer/mean'],
			['rewards/a/b/std', 'rewards/a/b/std'],
			['eval_reward', 'eval/reward'],
			['eval_rewards/f/mean', 'eval/rewards/f/mean'],
			['train/rewards/f/mean', 'rewards/f/mean'],
			['eval/completions/mean_length', 'eval/completions/mean_length'],
			['tools/call_frequency', 'tools/call_frequency'],
			['my_metric', 'my_metric'],
		] as const) {
			assert.equal(canonicalName('trl', name), canonical);
		}
		assert.match(describeMetric('eval/rewards/f/mean').title, /^f \(evaluation\)$/);
		assert.equal(describeMetric('eval/completions/mean_length').unit, 'tokens');
	});

	it('support source names with slashes', () => {
		assert.equal(canonicalName('verl', 'val-core/openai/gsm8k/acc/mean@4'), 'eval/openai/gsm8k/accuracy');
		assert.equal(canonicalName('verl', 'val-aux/openai/gsm8k/acc/best@4/mean'), 'eval/openai/gsm8k/pass@4');
		assert.equal(describeMetric('eval/openai/gsm8k/accuracy').group, 'evaluation');
		assert.equal(describeMetric('eval/openai/gsm8k/pass@4').unit, 'share');
	});

	it('keep metrics that are only similar separate, and state what they are similar to', () => {
		assert.equal(canonicalName('verl', 'critic/rewards/mean'), 'critic/rewards/mean');
		const info = describeMetric('critic/rewards/mean', { format: 'verl' });
		assert.equal(info.own?.akinTo, 'reward');
		assert.match(info.own?.differs.join(' ') ?? '', /KL penalty/);
		assert.equal(info.group, 'reward');
	});

	it('are shown with the trainer’s own name and differences in definition', () => {
		const deviation = describeMetric('reward_std', { format: 'trl' }).own;
		assert.equal(deviation?.trainer, 'TRL');
		assert.match(deviation?.differs.join(' ') ?? '', /entire batch/);
		assert.deepEqual(describeMetric('completions/mean_length', { format: 'trl' }).own?.names.slice(0, 2), [
			'completions/mean_length',
			'completion_length (up to 0.16, and Unsloth)',
		]);
		assert.equal(describeMetric('kl', { format: 'verl' }).own?.names[0], 'actor/kl_loss');
		assert.equal(
			describeMetric('rewards/f/mean', { format: 'prime-rl' }).own?.names[0],
			'train/agg/all/agent/rewards/f/mean',
		);
		assert.equal(describeMetric('kl', { format: 'reasoning-lab' }).own, null);
		assert.equal(describeMetric('kl').own, null);
	});

	it('handle hostile names', () => {
		for (const name of ['__proto__', 'constructor', 'toString', '', 'rewards//mean', 'x'.repeat(100_000)]) {
			for (const format of ['trl', 'verl', 'tensorboard', '__proto__', '']) {
				assert.equal(typeof canonicalName(format, name), 'string');
				assert.equal(typeof describeMetric(name, { format }).title, 'string');
			}
		}
	});
});
