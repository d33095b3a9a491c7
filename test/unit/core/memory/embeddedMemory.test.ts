import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateEmbedded } from '../../../../src/core/memory/embeddedMemory.ts';
import { shapeOfSizes } from '../../../../src/core/memory/modelShape.ts';
import { parseRecipe } from '../../../../src/core/recipe/parseRecipe.ts';
import { resolveRecipe } from '../../../../src/core/recipe/resolve.ts';
import type { ResolvedRecipe } from '../../../../src/core/recipe/resolvedRecipe.ts';

const sft = { type: 'sft', steps: 6, learning_rate: 1e-4, batch_size: 64 };
const grpo = { type: 'grpo', steps: 4, learning_rate: 1e-5, num_generations: 8, prompts_per_step: 8, beta: 0.05 };

function recipeOf(stage: object, workers = 2): ResolvedRecipe {
	const text = JSON.stringify({
		name: 'a',
		workers,
		dataset: { task: 'addition' },
		model: sizes.tiny,
		stages: [stage],
	});
	const parsed = parseRecipe(text);
	assert.ok(parsed.ok, JSON.stringify(parsed));
	return resolveRecipe(parsed.recipe, { cores: 2, resolvePath: (path) => path, exists: () => true });
}

/** The models measured in docs/memory.md. */
const sizes = {
	tiny: { layers: 1, width: 16, heads: 2, feedForward: 64, context: 42 },
	middle: { layers: 4, width: 256, heads: 8, feedForward: 1024, context: 42 },
	large: { layers: 6, width: 512, heads: 8, feedForward: 2048, context: 42 },
};

function mebibytes(size: keyof typeof sizes, recipe: ResolvedRecipe): number {
	const model = { shape: shapeOfSizes(sizes[size], 24), family: 'reasoning-lab', known: true };
	const facts = { model, promptTokens: 8, textTokens: 42, device: 'cpu', deviceBytes: 2 ** 40 } as const;
	return estimateEmbedded(recipe, facts).total / 2 ** 20;
}

test('estimates are at most 30% above and 5% below the measured memory', () => {
	const measured = [
		['tiny', recipeOf(sft), 165],
		['middle', recipeOf(sft), 669],
		['middle', recipeOf({ ...grpo, max_completion_length: 24 }), 624],
		['large', recipeOf(sft, 1), 1793],
		['large', recipeOf(sft), 2268],
		['large', recipeOf({ ...grpo, max_completion_length: 24 }), 2576],
	] as const;
	for (const [size, recipe, real] of measured) {
		const estimate = mebibytes(size, recipe);
		assert.ok(estimate > 0.95 * real && estimate < 1.3 * real, `${size}: ${estimate} of ${real}`);
	}
});

test('more workers, longer completions and a reference model need more memory; an engine that only samples needs less', () => {
	const short = recipeOf({ ...grpo, max_completion_length: 24 });
	const base = mebibytes('large', short);
	assert.ok(mebibytes('large', recipeOf({ ...grpo, max_completion_length: 24 }, 4)) > base);
	assert.ok(mebibytes('large', recipeOf({ ...grpo, beta: 0, max_completion_length: 24 })) < base);
	assert.ok(mebibytes('large', { ...short, stages: [] }) < base);
	assert.ok(
		mebibytes('large', recipeOf({ type: 'ppo', steps: 1, learning_rate: 1e-5, max_completion_length: 24 })) > base,
	);
});

test('a run that does not fit in memory is reported', () => {
	const recipe = recipeOf(sft);
	const model = { shape: shapeOfSizes(sizes.large, 24), family: 'reasoning-lab', known: true };
	const facts = { model, promptTokens: 8, textTokens: 42, device: 'cpu', deviceBytes: 2 ** 30 } as const;
	const { fits, advice } = estimateEmbedded(recipe, facts);
	assert.equal(fits, false);
	assert.match(advice ?? '', /fewer workers/);
	assert.equal(estimateEmbedded(recipe, { ...facts, deviceBytes: null }).fits, null);
});
