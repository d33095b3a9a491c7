import type { TaskDataset } from '../../protocol/recipe.ts';
import { dataFileKind, hasHubDatasetForm } from '../recipe/hubId.ts';
import type { ResolvedDataset } from '../recipe/resolvedRecipe.ts';

/** Whether a resolved path is an id of the hub: all other paths are absolute by then. */
export function isHubDataset(path: string): boolean {
	return hasHubDatasetForm(path);
}

const binary: readonly string[] = ['csv', 'tsv', 'parquet', 'arrow'];

function files(dataset: ResolvedDataset): string[] {
	return 'task' in dataset ? [] : [dataset.path, ...(dataset.heldOut === null ? [] : [dataset.heldOut])];
}

/** Whether only the trainer, in Python, reads it (of a recipe for the pytorch engine): its problems are not known before. */
export function isReadByTrainer(dataset: ResolvedDataset): boolean {
	return files(dataset).some((path) => isHubDataset(path) || ['json', ...binary].includes(dataFileKind(path) ?? ''));
}

/** Why problems of a dataset cannot be shown in the editor, in a sentence; null: they can. */
export function onlyTrainerReads(dataset: ResolvedDataset): string | null {
	const path = files(dataset).find((one) => isHubDataset(one) || binary.includes(dataFileKind(one) ?? ''));
	if (path === undefined) return null;
	const where = isHubDataset(path) ? 'lies on the hub' : `is a ${dataFileKind(path)} file`;
	return `${path} ${where}, which only the trainer reads, during a run.`;
}

/** The task whose verifier decides what is right; null: answers are compared with the gold one. */
export function verifiedTask(dataset: ResolvedDataset): TaskDataset | null {
	if ('task' in dataset) return { ...dataset } as TaskDataset;
	// Any expression that reaches the target is right, and the target by itself is not.
	return dataset.preset === 'countdown' ? { task: 'countdown' } : null;
}
