import type { GrpoStage, Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { asyncKeys, asyncOptions } from './asyncLimits.ts';
import { processesOf } from './checkBatches.ts';
import type { Report } from './pathFault.ts';

/** Checks settings that the PyTorch engine cannot combine with sampling while training. */
export function checkAsync(recipe: Recipe, report: Report): void {
	for (const [i, stage] of recipe.stages.entries()) {
		if (stage.type !== 'grpo' || (stage.max_staleness ?? 0) === 0) continue;
		const conflict = conflictOf(recipe, stage);
		if (conflict === null) continue;
		report(
			['stages', i, 'max_staleness'],
			`TRL's AsyncGRPOTrainer, which samples while training, cannot be combined with ${conflict}. Remove one of them, or set "engine": "embedded".`,
		);
	}
}

/** Returns what cannot be combined with sampling while training, or null. */
function conflictOf(recipe: Recipe, stage: GrpoStage): string | null {
	const { pytorch, environment, dataset } = recipe;
	const given: Readonly<Record<string, unknown>> = stage;
	const key = Object.keys(asyncKeys).find((name) => (given[name] ?? asyncKeys[name]) !== asyncKeys[name]);
	if (key !== undefined) return `"${key}": ${JSON.stringify(given[key])}`;
	const option = asyncOptions.find((name) => Object.hasOwn(stage.trainer ?? {}, name));
	if (option !== undefined) return `"${option}" of "trainer"`;
	if (pytorch?.vllm !== undefined) return '"vllm"';
	if (pytorch?.lora !== undefined) return '"lora"';
	if (environment !== undefined) return 'an environment';
	if ('image' in dataset && dataset.image !== undefined) return 'images';
	return processesOf(recipe) > 1 ? 'more than one process' : null;
}
