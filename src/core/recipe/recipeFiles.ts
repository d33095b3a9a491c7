import { hasHubDatasetForm, hasHubForm } from './hubId.ts';
import type { ResolvedRecipe } from './resolvedRecipe.ts';

/** A file or folder that a recipe references. */
export interface RecipeFile {
	/** Path of the key that references it. */
	readonly key: readonly (string | number)[];
	/** Absolute path. */
	readonly path: string;
	/** `any` also accepts a folder; `rows` accepts a folder of Parquet files or one written by `save_to_disk`. */
	readonly kind: 'file' | 'rows' | 'any';
}

/** Returns everything that must exist before a run starts, except reward files, which are copied with their imports. */
export function recipeFiles(recipe: ResolvedRecipe): RecipeFile[] {
	const { dataset, model, engine } = recipe;
	const embedded = engine === 'embedded';
	const files: RecipeFile[] = [];
	const data = (path: string, ...key: (string | number)[]) => {
		const kind = !embedded ? 'any' : key[0] === 'dataset' ? 'rows' : 'file';
		if (embedded || !hasHubDatasetForm(path)) files.push({ key, path, kind });
	};
	if ('path' in dataset) {
		data(dataset.path, 'dataset', 'path');
		if (dataset.heldOut !== null) data(dataset.heldOut, 'dataset', 'heldOut');
	}
	if ('path' in model) {
		if (embedded || !hasHubForm(model.path)) files.push({ key: ['model', 'path'], path: model.path, kind: 'any' });
		if (model.template !== undefined) files.push({ key: ['model', 'template'], path: model.template, kind: 'file' });
	}
	for (const [i, reward] of recipe.rewards.entries()) {
		if (!('use' in reward) || reward.use !== 'reward-model') continue;
		files.push({ key: ['rewards', i, 'path'], path: reward.path, kind: 'any' });
	}
	for (const [i, stage] of recipe.stages.entries()) {
		if ('corpus' in stage && stage.corpus !== null) data(stage.corpus.path, 'stages', i, 'corpus', 'path');
		if ('labels' in stage && stage.labels !== null) data(stage.labels.path, 'stages', i, 'labels', 'path');
		if ('pairs' in stage) data(stage.pairs.path, 'stages', i, 'pairs', 'path');
		if (stage.type === 'rejection-sampling') {
			for (const [k, { path }] of stage.extra.entries()) data(path, 'stages', i, 'extra', k, 'path');
		}
		if ('teacher' in stage && stage.teacher !== null) {
			files.push({ key: ['stages', i, 'teacher', 'path'], path: stage.teacher.path, kind: 'any' });
		}
		if ('data' in stage && stage.data !== null) data(stage.data.path, 'stages', i, 'data', 'path');
	}
	return files;
}
