import type { TaskDataset } from '../../protocol/recipeKeys/recipe.ts';
import { dataFileKind, hasHubDatasetForm } from '../recipe/hubId.ts';
import type { ResolvedDataset } from '../recipe/resolvedRecipe.ts';

/** Returns whether a resolved path is a Hub id. All other resolved paths are absolute. */
export function isHubDataset(path: string): boolean {
	return hasHubDatasetForm(path);
}

const readByTrainer: readonly string[] = ['json', 'csv', 'tsv', 'parquet', 'arrow'];

function files(dataset: ResolvedDataset): string[] {
	return 'task' in dataset ? [] : [dataset.path, ...(dataset.heldOut === null ? [] : [dataset.heldOut])];
}

/**
 * Returns whether only the Python trainer can read the dataset (in recipes for the pytorch engine). If so, its problems
 * are not known in advance.
 */
export function isReadByTrainer(dataset: ResolvedDataset): boolean {
	return files(dataset).some((path) => isHubDataset(path) || readByTrainer.includes(dataFileKind(path) ?? ''));
}

/** Returns a sentence explaining why a dataset's problems cannot be shown in the editor, or null if they can. */
export function onlyTrainerReads(dataset: ResolvedDataset): string | null {
	for (const path of files(dataset)) {
		const where = isHubDataset(path) ? 'is on the Hub' : unreadFile(path);
		if (where !== null) return `${path} ${where}; only the trainer can read it, and only during a run.`;
	}
	return null;
}

/**
 * Returns why only the trainer can read a file, based on its name ("is compressed"). Returns null if the file can be
 * read without the trainer.
 */
export function unreadFile(path: string): string | null {
	return dataFileKind(path) !== null && /\.(gz|zst)$/i.test(path) ? 'is compressed' : null;
}

/** Returns the task whose verifier checks correctness, or null if answers are compared with the gold answer. */
export function verifiedTask(dataset: ResolvedDataset): TaskDataset | null {
	if ('task' in dataset) return { ...dataset } as TaskDataset;
	// Any expression that reaches the target is correct, but the bare target is not.
	return dataset.preset === 'countdown' ? { task: 'countdown' } : null;
}
