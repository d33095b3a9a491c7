import assert from 'node:assert/strict';
import { parseRecipe, type RecipeFault } from '../../../../src/core/recipe/parseRecipe.ts';
import type { PipelineRecipe } from '../../../../src/protocol/recipeKeys/pipelineRecipe.ts';

const base = {
	name: 'story',
	seed: 3,
	dataset: { task: 'addition', digits: 1 },
	model: { layers: 1, width: 16, heads: 2 },
};

export const sft = { type: 'sft', steps: 4, learning_rate: 0.01 };
export const grpo = { type: 'grpo', steps: 4, learning_rate: 0.001 };

export function recipeText(stages: readonly object[], more: object = {}): string {
	return JSON.stringify({ ...base, ...more, stages }, null, '\t');
}

export function pipelineOf(stages: readonly object[], more: object = {}): PipelineRecipe {
	const parsed = parseRecipe(recipeText(stages, more));
	assert.ok(parsed.ok, JSON.stringify(parsed));
	assert.ok(parsed.pipeline);
	return parsed.pipeline;
}

export function faultsOf(stages: readonly object[], more: object = {}): readonly RecipeFault[] {
	const parsed = parseRecipe(recipeText(stages, more));
	assert.ok(!parsed.ok);
	return parsed.faults;
}
