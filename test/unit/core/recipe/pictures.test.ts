import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';

const recipe = {
	name: 'r',
	engine: 'pytorch',
	dataset: { path: 'boxes.jsonl', image: 'picture' },
	model: { path: 'models/vision' },
	template: { prompt: '{prompt}', chat: true, think: null, answer: ['<answer>', '</answer>'] },
	rewards: [{ use: 'iou', column: 'boxes', unit: 'thousandths' }],
	stages: [{ type: 'grpo', steps: 1, learning_rate: 1e-5 }],
};

function faultsOf(changes: object): string[] {
	const parsed = parseRecipe(JSON.stringify({ ...recipe, ...changes }));
	return parsed.ok ? [] : parsed.faults.map(({ path, message }) => `${path}: ${message}`);
}

test('a recipe with images resolves with its image column', () => {
	const parsed = parseRecipe(JSON.stringify(recipe));
	assert.ok(parsed.ok, JSON.stringify(parsed));
	const { dataset, rewards } = resolveRecipe(parsed.recipe, { cores: 2, resolvePath: (path: string) => `/p/${path}` });
	assert.equal((dataset as { image?: string }).image, 'picture');
	assert.deepEqual(rewards[0], {
		...{ use: 'iou', name: 'iou', weight: 1 },
		...{ column: 'boxes', threshold: 0.5, measure: 'iou', unit: 'thousandths' },
	});
});

test('keys that contradict images are reported', () => {
	for (const [changes, words] of [
		[{ engine: 'embedded' }, /"image" needs a vision-language model/],
		[{ template: { prompt: '{prompt}', think: null, answer: null } }, /Images require a chat template/],
		[{ template: 'plain' }, /Images require a chat template/],
		[{ model: { layers: 1, width: 8, heads: 1 } }, /New models do not support images/],
		[{ pytorch: { vllm: {} } }, /cannot be sampled with vLLM/],
		[
			{ stages: [{ type: 'sft', steps: 1, learning_rate: 1e-5 }, ...recipe.stages] },
			/Only grpo stages train with images. Remove the sft stage/,
		],
		[
			{ stages: [{ ...recipe.stages[0], importance_sampling_level: 'sequence_token' }] },
			/"sequence_token" ignores some inputs of vision models/,
		],
	] as const) {
		const faults = faultsOf(changes);
		assert.ok(
			faults.some((fault) => words.test(fault)),
			`${JSON.stringify(changes)}: ${faults.join('\n')}`,
		);
	}
});
