import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyOverrides, parseOverride, shuffleOverrides } from '../../../src/runs/recipeOverrides.ts';

test('overrides reach stages inside a loop by their position, and shuffle overrides include those stages', () => {
	const grpo = { type: 'grpo', steps: 4 };
	const recipe = { stages: [grpo, { loop: 'round', times: 2, stages: [{ type: 'sft' }, { ...grpo }] }] };
	const changed = applyOverrides(recipe, [
		parseOverride('stages.1.stages.1.steps=9'),
		parseOverride('stages.1.times=3'),
	]);
	assert.deepEqual(changed, {
		stages: [grpo, { loop: 'round', times: 3, stages: [{ type: 'sft' }, { type: 'grpo', steps: 9 }] }],
	});
	assert.deepEqual(shuffleOverrides(recipe), [
		{ path: ['stages', '0', 'control'], value: 'shuffle' },
		{ path: ['stages', '1', 'stages', '1', 'control'], value: 'shuffle' },
	]);
	assert.deepEqual(shuffleOverrides({ stages: [null, { stages: 3 }] }), []);
});
