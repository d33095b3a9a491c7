import type { NamedStage, PipelineRecipe } from '../../protocol/recipeKeys/pipelineRecipe.ts';
import type { Recipe } from '../../protocol/recipeKeys/recipe.ts';
import { resolveRecipe } from '../recipe/resolve.ts';
import { compileStage, placeholders } from './compileStage.ts';
import { inputsOf } from './pipelineGraph.ts';

/** Follows the chain of starting points to the stage that created the policy's model. */
export function originOf(recipe: PipelineRecipe, stage: NamedStage): NamedStage {
	const from = inputsOf(stage).find(({ key }) => key === 'from');
	const other = recipe.stages.find(({ name }) => name === from?.stage);
	return other === undefined ? stage : originOf(recipe, other);
}

/** Returns a stage recipe that includes the model its policy started from, if that model is new. */
export function withOrigin(recipe: PipelineRecipe, stage: NamedStage): Recipe {
	const compiled = compileStage(recipe, stage, placeholders(recipe, stage));
	const model = originOf(recipe, stage).model ?? recipe.model;
	return 'path' in model ? compiled : { ...compiled, model };
}

const anywhere = { cores: 1, resolvePath: (path: string) => path };

/**
 * For a stage that creates a new model without an explicit context, returns its recipe with a context large enough for
 * all stages that continue from it. If one of those stages learns from a file, whose text lengths are not yet known,
 * the recipe is returned unchanged.
 */
export function withContext(recipe: PipelineRecipe, stage: NamedStage, compiled: Recipe): Recipe {
	const { model } = compiled;
	if ('path' in model || model.context !== undefined) return compiled;
	const contexts = recipe.stages
		.filter((other) => originOf(recipe, other).name === stage.name)
		.map((other) => {
			const whole = withOrigin(recipe, other);
			if (!('task' in whole.dataset)) return null;
			const { model: resolved } = resolveRecipe(whole, anywhere);
			return 'path' in resolved ? null : resolved.context;
		});
	if (contexts.some((context) => context === null)) return compiled;
	return { ...compiled, model: { ...model, context: Math.max(...(contexts as number[])) } };
}
