import type { ResolvedRecipe } from '../../../core/recipe/resolvedRecipe.ts';
import { withAbsolutePaths } from '../../../protocol/recipeKeys/builtInRewards.ts';

/**
 * Maps all file and folder paths outside the run: data, models, templates, labels, and inputs to built-in rewards. The
 * run's own copies of reward files have relative paths and are left unchanged.
 */
export function mapRecipePaths(recipe: ResolvedRecipe, map: (path: string) => string): ResolvedRecipe {
	const { dataset, model } = recipe;
	const at = <T extends { readonly path: string } | null>(value: T): T =>
		value === null ? value : { ...value, path: map(value.path) };
	return {
		...recipe,
		dataset:
			'path' in dataset
				? { ...dataset, path: map(dataset.path), heldOut: dataset.heldOut === null ? null : map(dataset.heldOut) }
				: dataset,
		model:
			'path' in model
				? {
						...model,
						path: map(model.path),
						...(model.template === undefined ? {} : { template: map(model.template) }),
					}
				: model,
		rewards: recipe.rewards.map((reward) => ('use' in reward ? withAbsolutePaths(reward, map) : reward)),
		stages: recipe.stages.map((stage) => {
			if (stage.type === 'value-model' || stage.type === 'process-reward-model') {
				return { ...stage, labels: at(stage.labels) };
			}
			if (stage.type === 'pretrain') return { ...stage, corpus: at(stage.corpus) };
			if (stage.type === 'dpo' || stage.type === 'reward-model') return { ...stage, pairs: at(stage.pairs) };
			if (stage.type === 'distill' || stage.type === 'sft') return { ...stage, data: at(stage.data) };
			return stage;
		}),
	};
}
