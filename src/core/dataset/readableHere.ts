import type { TaskDataset } from '../../protocol/recipe.ts';
import { dataFileKind, hasHubDatasetForm } from '../recipe/hubId.ts';
import type { ResolvedDataset } from '../recipe/resolvedRecipe.ts';

/** Whether a resolved path is a Hub id: all other paths are absolute by then. */
export function isHubDataset(path: string): boolean {
	return hasHubDatasetForm(path);
}

const readByTrainer: readonly string[] = ['json', 'csv', 'tsv', 'parquet', 'arrow'];

function files(dataset: ResolvedDataset): string[] {
	return 'task' in dataset ? [] : [dataset.path, ...(dataset.heldOut === null ? [] : [dataset.heldOut])];
}

/**
 * Whether only the Python trainer reads it (for a recipe of the pytorch engine), so that its problems are not known in
 * advance.
 */
export function isReadByTrainer(dataset: ResolvedDataset): boolean {
	return files(dataset).some((path) => isHubDataset(path) || readByTrainer.includes(dataFileKind(path) ?? ''));
}

/** Why the problems of a dataset cannot be shown in the editor, as a sentence; null if they can. */
export function onlyTrainerReads(dataset: ResolvedDataset): string | null {
	for (const path of files(dataset)) {
		const where = isHubDataset(path) ? 'is on the Hub' : unreadFile(path);
		if (where !== null) return `${path} ${where}; only the trainer can read it, during a run.`;
	}
	return null;
}

/** Why only the trainer can read a file, by its name: "is compressed"; null if it can be read here. */
export function unreadFile(path: string): string | null {
	return dataFileKind(path) !== null && /\.(gz|zst)$/i.test(path) ? 'is compressed' : null;
}

/** The task whose verifier judges correctness; null if answers are compared with the gold answer. */
export function verifiedTask(dataset: ResolvedDataset): TaskDataset | null {
	if ('task' in dataset) return { ...dataset } as TaskDataset;
	// Any expression that reaches the target is correct, but the target itself is not.
	return dataset.preset === 'countdown' ? { task: 'countdown' } : null;
}
