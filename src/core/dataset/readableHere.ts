import type { TaskDataset } from '../../protocol/recipe.ts';
import { dataFileKind, hasHubDatasetForm } from '../recipe/hubId.ts';
import type { ResolvedDataset } from '../recipe/resolvedRecipe.ts';

/** Whether a resolved path is an id of the hub: all other paths are absolute by then. */
export function isHubDataset(path: string): boolean {
	return hasHubDatasetForm(path);
}

const readByTrainer: readonly string[] = ['json', 'csv', 'tsv', 'parquet', 'arrow'];

function files(dataset: ResolvedDataset): string[] {
	return 'task' in dataset ? [] : [dataset.path, ...(dataset.heldOut === null ? [] : [dataset.heldOut])];
}

/** Whether only the trainer, in Python, reads it (of a recipe for the pytorch engine): its problems are not known before. */
export function isReadByTrainer(dataset: ResolvedDataset): boolean {
	return files(dataset).some((path) => isHubDataset(path) || readByTrainer.includes(dataFileKind(path) ?? ''));
}

/** Why problems of a dataset cannot be shown in the editor, in a sentence; null: they can. */
export function onlyTrainerReads(dataset: ResolvedDataset): string | null {
	for (const path of files(dataset)) {
		const where = isHubDataset(path) ? 'is on the Hub' : unreadFile(path);
		if (where !== null) return `${path} ${where}; only the trainer can read it, during a run.`;
	}
	return null;
}

/** What a file is that only the trainer reads, by its name: "is compressed"; null: it is read here, too. */
export function unreadFile(path: string): string | null {
	return dataFileKind(path) !== null && /\.(gz|zst)$/i.test(path) ? 'is compressed' : null;
}

/** The task whose verifier decides what is right; null: answers are compared with the gold one. */
export function verifiedTask(dataset: ResolvedDataset): TaskDataset | null {
	if ('task' in dataset) return { ...dataset } as TaskDataset;
	// Any expression that reaches the target is right, and the target by itself is not.
	return dataset.preset === 'countdown' ? { task: 'countdown' } : null;
}
