import { createHash, type Hash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { Failure } from '../base/failure.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { type DatasetColumns, promptKey } from '../core/dataset/datasetRows.ts';
import type { Problem } from '../core/dataset/problem.ts';
import type { ProblemSource } from '../core/dataset/problemSource.ts';
import { onlyTrainerReads } from '../core/dataset/readableHere.ts';
import { rowsSource, splitRows } from '../core/dataset/rowsSource.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import type { ResolvedDataset } from '../core/recipe/resolvedRecipe.ts';
import { openNamed } from '../files/safeFile.ts';
import { utf8Text } from '../files/textEncoding.ts';
import type { TaskDataset } from '../protocol/recipeKeys/recipe.ts';
import { openTable } from './dataset/openTable.ts';
import { partsOf } from './dataset/partsTable.ts';
import { problemOf } from './dataset/problemRows.ts';
import { defaultSplit, folderOfSplit } from './dataset/savedFolder.ts';

export interface OpenedDataset {
	readonly source: ProblemSource;
	/**
	 * SHA-256 hash of the generator's settings or of the file contents. Checked on resume to make sure that nothing has
	 * changed.
	 */
	readonly hash: string;
}

/** Maximum dataset size, in bytes. Rows are kept in memory, and a JavaScript string can hold about 512 MB. */
export const largestDataset = 500_000_000;

/** Reads the text of a data file. Throws `missing`, `invalid` and `unsupported`. */
export async function readDataFile(path: string): Promise<string> {
	const what = `The dataset ${path}`;
	const handle = await openNamed(path, what);
	try {
		const { size } = await handle.stat();
		if (size > largestDataset) {
			throw tooLarge(what, size);
		}
		return utf8Text(await handle.readFile(), what);
	} catch (error) {
		throw Failure.from(error, `${what} cannot be read`);
	} finally {
		await handle.close();
	}
}

/** Opens a recipe's dataset. Throws `missing` and `invalid` (naming file and line) before any other work starts. */
export async function openDataset(dataset: ResolvedDataset): Promise<OpenedDataset> {
	if ('task' in dataset) {
		const hash = createHash('sha256').update(JSON.stringify(dataset)).update('\0').digest('hex');
		return { source: taskSource(createTask(dataset as TaskDataset)), hash };
	}
	const unread = onlyTrainerReads(dataset);
	if (unread !== null) throw new Failure('unsupported', unread, 'Use a dataset file (JSONL, CSV, Parquet) or a task.');
	const path = await folderOfSplit(dataset.path, dataset.split ?? defaultSplit);
	const heldOutPath = dataset.heldOut === null ? null : await folderOfSplit(dataset.heldOut, defaultSplit);
	const excluded = new Set(dataset.exclude?.map(promptKey));
	const rows = (await readProblems(path, dataset)).filter(({ prompt }) => !excluded.has(promptKey(prompt)));
	const heldOut = heldOutPath === null ? null : await readProblems(heldOutPath, dataset);
	const hash = createHash('sha256')
		.update(JSON.stringify({ ...dataset, path: '', heldOut: '' }))
		.update('\0');
	await addContent(hash, path);
	if (heldOutPath === null) hash.update('\0');
	else await addContent(hash, heldOutPath);
	return {
		source: rowsSource(basename(dataset.path), splitRows(rows, heldOut, dataset.heldOutShare)),
		hash: hash.digest('hex'),
	};
}

async function readProblems(path: string, columns: DatasetColumns): Promise<Problem[]> {
	const table = await openTable(path, { anyName: true });
	try {
		if ((table.size ?? 0) > largestDataset) throw tooLarge(`The dataset ${path}`, table.size ?? 0);
		const problems: Problem[] = [];
		let held = 0;
		for await (const row of table.scan()) {
			const problem = problemOf(row, columns, { name: path });
			problems.push(problem);
			if (table.format !== 'parquet' && table.format !== 'arrow') continue;
			// A few bytes can decode to many rows.
			held += heldCharacters(problem.row);
			if (held > largestDataset) throw tooLarge(`The dataset ${path}, once decoded,`, held);
		}
		if (problems.length > 0) return problems;
		throw new Failure('invalid', `${path} has no rows.`, 'Write one JSON object with prompt and answer per line.');
	} finally {
		await table.close();
	}
}

function tooLarge(what: string, size: number): Failure {
	return new Failure(
		'unsupported',
		`${what} is ${size} bytes; the limit for this engine is ${largestDataset}.`,
		'Train on part of it, or use the PyTorch engine.',
	);
}

function heldCharacters(value: unknown): number {
	if (typeof value === 'string') return value.length;
	if (typeof value !== 'object' || value === null) return 8;
	let characters = 8;
	for (const inner of Object.values(value)) characters += heldCharacters(inner);
	return characters;
}

/** Hashes the bytes of a file, or of each file in a folder, followed by an end marker. */
async function addContent(hash: Hash, path: string): Promise<void> {
	const files = (await stat(path)).isDirectory() ? await partsOf(path) : [path];
	for (const file of files) {
		const handle = await openNamed(file);
		for await (const bytes of handle.createReadStream()) hash.update(bytes as Buffer);
		hash.update('\0');
	}
}
