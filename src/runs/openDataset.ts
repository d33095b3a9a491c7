import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { type DatasetColumns, parseDataset } from '../core/dataset/datasetRows.ts';
import type { ProblemSource } from '../core/dataset/problemSource.ts';
import { onlyTrainerReads } from '../core/dataset/readableHere.ts';
import { rowsSource, splitRows } from '../core/dataset/rowsSource.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import type { ResolvedDataset } from '../core/recipe/resolvedRecipe.ts';
import type { TaskDataset } from '../protocol/recipe.ts';
import { openNamed } from './safeFile.ts';
import { utf8Text } from './textEncoding.ts';

export interface OpenedDataset {
	readonly source: ProblemSource;
	/** SHA-256 of the generator's settings or of the files' content: a resume checks that nothing has changed. */
	readonly hash: string;
}

/** Rows are held in memory, and one text of JavaScript holds about 512 MB. */
export const largestDataset = 500_000_000;

/** The text of a file of rows. Throws `missing`, `invalid` and `unsupported`. */
export async function readDataFile(path: string): Promise<string> {
	const what = `The dataset ${path}`;
	const handle = await openNamed(path, what);
	try {
		const { size } = await handle.stat();
		if (size > largestDataset) {
			throw new Failure(
				'unsupported',
				`${what} has ${size} bytes; this engine reads up to ${largestDataset}.`,
				'Train on a part of it, or use the pytorch engine.',
			);
		}
		return utf8Text(await handle.readFile(), what);
	} catch (error) {
		throw Failure.from(error, `${what} cannot be read`);
	} finally {
		await handle.close();
	}
}

const hashOf = (...texts: readonly string[]) => {
	const hash = createHash('sha256');
	for (const text of texts) hash.update(text).update('\0');
	return hash.digest('hex');
};

/** Opens a recipe's dataset. Throws `missing` and `invalid` (naming file and line) before any work. */
export async function openDataset(dataset: ResolvedDataset): Promise<OpenedDataset> {
	if ('task' in dataset) {
		return { source: taskSource(createTask(dataset as TaskDataset)), hash: hashOf(JSON.stringify(dataset)) };
	}
	const unread = onlyTrainerReads(dataset);
	if (unread !== null) throw new Failure('unsupported', unread, 'Name a JSONL file or a task.');
	const columns: DatasetColumns = dataset;
	const text = await readDataFile(dataset.path);
	const rows = parseDataset(text, dataset.path, columns);
	const heldOutText = dataset.heldOut === null ? null : await readDataFile(dataset.heldOut);
	const heldOut = heldOutText === null ? null : parseDataset(heldOutText, dataset.heldOut as string, columns);
	return {
		source: rowsSource(basename(dataset.path), splitRows(rows, heldOut, dataset.heldOutShare)),
		hash: hashOf(JSON.stringify({ ...dataset, path: '', heldOut: '' }), text, heldOutText ?? ''),
	};
}
