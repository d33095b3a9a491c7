import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { learningRateAt } from '../../../../src/core/grpo/learningRate.ts';
import type { SchedulerName } from '../../../../src/protocol/recipeKeys/recipe.ts';

/** Values from transformers' optimization.py for 10 steps with 2 warm-up steps, computed by hand. */
describe('learning-rate schedules', () => {
	const rates = (lr_scheduler_type: SchedulerName, warmup_steps = 2) =>
		Array.from({ length: 10 }, (_, index) =>
			Number(learningRateAt({ learning_rate: 8, lr_scheduler_type, warmup_steps, steps: 10 }, index).toFixed(9)),
		);

	it('match transformers', () => {
		assert.deepEqual(rates('constant'), Array(10).fill(8));
		assert.deepEqual(rates('constant_with_warmup'), [0, 4, ...Array(8).fill(8)]);
		assert.deepEqual(rates('constant_with_warmup', 0), Array(10).fill(8));
		assert.deepEqual(rates('linear'), [0, 4, 8, 7, 6, 5, 4, 3, 2, 1]);
		const half = (i: number) => Number((4 * (1 + Math.cos((Math.PI * i) / 8))).toFixed(9));
		assert.deepEqual(rates('cosine'), [0, 4, 8, half(1), half(2), half(3), 4, half(5), half(6), half(7)]);
	});

	it('stay at 0 after the end, and support warm-up for all steps', () => {
		const schedule = { learning_rate: 1, lr_scheduler_type: 'linear' as const, warmup_steps: 3, steps: 3 };
		assert.equal(learningRateAt(schedule, 5), 0);
		assert.ok(Math.abs(learningRateAt(schedule, 2) - 2 / 3) < 1e-12);
		assert.ok(learningRateAt({ ...schedule, lr_scheduler_type: 'cosine' }, 4) >= 0);
	});
});
