import { createHash } from 'node:crypto';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { promptKey } from '../core/dataset/datasetRows.ts';
import type { Problem } from '../core/dataset/problem.ts';
import type { TableRow } from '../core/dataset/table/tableRow.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import { type BenchmarkJudge, benchmarkProblem, benchmarks } from '../core/evaluation/benchmarks.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { type ResolvedDataset, resolvedRecipeSchema } from '../core/recipe/resolvedRecipe.ts';
import type { BenchmarkName } from '../protocol/benchmarks.ts';
import type { DatasetPart } from '../protocol/datasetPart.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import type { TaskDataset } from '../protocol/recipeKeys/recipe.ts';
import type { ProblemsSpec } from '../protocol/strategyComparison.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import type { DataTable } from '../runs/dataset/dataTable.ts';
import { placeOf } from '../runs/dataset/problemRows.ts';
import { columnReader, numberOf, openRows, type RowReader, searchProblem } from '../runs/dataset/tableProblems.ts';
import { openDataset } from '../runs/openDataset.ts';
import { readResolvedRecipe } from '../runs/runReader.ts';

/** A line that is not a valid problem. */
export interface ProblemFault {
	/** 1-based line number. */
	readonly line: number;
	readonly message: string;
}

/** Problems in a fixed order, read on demand. */
export interface ProblemSet {
	/** Display name. */
	readonly name: string;
	/**
	 * Task generator, whose own rule determines correctness; null if answers are compared by mathematical equivalence.
	 */
	readonly task: TaskDataset | null;
	/** How to grade answers if there is no generator; if absent, answers are compared by mathematical equivalence. */
	readonly judge?: BenchmarkJudge;
	/**
	 * Yields each problem once. Of several identical problems, only the first is yielded. Fails with `missing`, or with
	 * `invalid` if there is nothing to read.
	 * @param onFault called for each problem that is skipped because it cannot be read
	 */
	problems(onFault: (fault: ProblemFault) => void): AsyncIterable<Problem>;
}

/** Default number of problems from a generator if no limit is set. */
const defaultTaskProblems = 500;

/** Returns a key that is equal for identical problems. */
type Identity = (problem: Problem) => string;

/**
 * Opens a set of problems; relative paths are resolved against `folder`. Fails with `missing` and `invalid` before
 * reading any problem.
 * @param identity default: problems with the same prompt are considered identical
 */
export async function openProblemSet(spec: ProblemsSpec, folder: string, identity?: Identity): Promise<ProblemSet> {
	const distinct = (problems: AsyncIterable<Problem>, limit: number) => firstOfEach(problems, limit, identity);
	switch (spec.from) {
		case 'file': {
			const path = resolve(folder, spec.path);
			const { benchmark, limit, prompt, answer } = spec;
			await (await openRows(path)).close();
			const readerOf = (table: DataTable) =>
				benchmark === undefined
					? columnReader(table, { prompt, answer })
					: Promise.resolve((row: TableRow) => benchmarkRow(row, benchmark));
			return {
				name: benchmark === undefined ? basename(path) : `${benchmark} (${basename(path)})`,
				task: null,
				judge: benchmark === undefined ? 'math' : benchmarks[benchmark].judge,
				problems: (onFault) => distinct(fileProblems(path, readerOf, onFault), limit ?? Number.POSITIVE_INFINITY),
			};
		}
		case 'task': {
			const source = taskSource(createTask(spec.task));
			const limit = spec.limit ?? defaultTaskProblems;
			if (spec.part === 'training') {
				const problems = () => distinct(trainingProblems(source, 0), limit);
				return { name: `training problems from ${source.name}`, task: spec.task, problems };
			}
			const problems = source.heldOut(limit);
			return { name: `held-out problems from ${source.name}`, task: spec.task, problems: () => listed(problems) };
		}
		case 'run': {
			const run = resolve(folder, spec.run);
			const recipe = decodeResolvedRecipe(await readResolvedRecipe(run), `The recipe of ${basename(run)}`);
			return datasetProblems(recipe.dataset, recipe.seed, spec, basename(run), distinct);
		}
		case 'dataset': {
			const dataset = decodeOrThrow(resolvedRecipeSchema.entries.dataset, spec.dataset, 'The dataset');
			const name = 'task' in dataset ? dataset.task : basename(dataset.path);
			return datasetProblems(dataset, spec.seed, spec, name, distinct);
		}
	}
}

async function datasetProblems(
	dataset: ResolvedDataset,
	seed: number,
	spec: { readonly part: DatasetPart; readonly limit?: number | undefined },
	of: string,
	distinct: (problems: AsyncIterable<Problem>, limit: number) => AsyncIterable<Problem>,
): Promise<ProblemSet> {
	const { source } = await openDataset(dataset);
	const task = 'task' in dataset ? (dataset as TaskDataset) : null;
	const limit = spec.limit ?? (task === null ? Number.POSITIVE_INFINITY : defaultTaskProblems);
	const heldOut = spec.part === 'held-out';
	return {
		name: `${heldOut ? 'held-out problems' : 'training problems'} of ${of}`,
		task,
		problems: () =>
			heldOut
				? listed(source.heldOut(limit === Number.POSITIVE_INFINITY ? 1e9 : limit))
				: distinct(trainingProblems(source, seed), limit),
	};
}

async function* listed(problems: readonly Problem[]): AsyncIterable<Problem> {
	yield* problems;
}

/**
 * Yields a run's problems in training order. They repeat, so iteration stops after a long stretch without a new
 * problem.
 */
async function* trainingProblems(
	source: { training(seed: number, index: number): Problem },
	seed: number,
): AsyncIterable<Problem> {
	for (let i = 0; ; i++) yield source.training(seed, i);
}

/** Number of consecutive repeated problems after which no new ones are expected. */
const maxRepeated = 100_000;

async function* firstOfEach(
	problems: AsyncIterable<Problem>,
	limit: number,
	identity: Identity | undefined,
): AsyncIterable<Problem> {
	const seen = new Set<string>();
	let repeated = 0;
	if (limit <= 0) return;
	for await (const problem of problems) {
		const key = identity === undefined ? shortKey(problem.key) : hashOf(identity(problem));
		if (seen.has(key)) {
			if (++repeated >= maxRepeated) return;
			continue;
		}
		repeated = 0;
		seen.add(key);
		yield problem;
		if (seen.size >= limit) return;
	}
}

/**
 * Returns the problem in a row. Rows are identified by line number in line-based files, and by row number starting at 1
 * in all others. Fails with `missing` or `invalid`.
 */
export async function readProblemRow(path: string, wanted: number): Promise<SearchProblem> {
	const table = await openRows(path);
	try {
		const read = await columnReader(table, {});
		for await (const row of table.scan()) {
			if (numberOf(row) < wanted) continue;
			if (numberOf(row) > wanted) break;
			const problem = read(row);
			if (typeof problem !== 'string') return searchProblem(problem);
			throw new Failure(
				'invalid',
				`${path}, ${placeOf(row)}, ${problem}.`,
				'Enter the problem directly instead of using --dataset.',
			);
		}
		throw new Failure('missing', `${path} has no row ${wanted}.`, 'Choose a different row with --row.');
	} finally {
		await table.close();
	}
}

async function* fileProblems(
	path: string,
	readerOf: (table: DataTable) => Promise<RowReader>,
	onFault: (fault: ProblemFault) => void,
): AsyncIterable<Problem> {
	const table = await openRows(path);
	try {
		const read = await readerOf(table);
		let [found, first] = [0, ''];
		for await (const row of table.scan()) {
			const problem = read(row);
			if (typeof problem === 'string') {
				if (first === '') first = `: row ${numberOf(row)} ${problem}`;
				onFault({ line: numberOf(row), message: problem });
				continue;
			}
			found++;
			yield problem;
		}
		if (found > 0) return;
		throw new Failure(
			'invalid',
			`${path} has no problems${first}.`,
			'Name its columns "prompt" and "answer", or set them with --prompt and --answer.',
		);
	} finally {
		await table.close();
	}
}

function benchmarkRow({ value, fault }: TableRow, benchmark: BenchmarkName): Problem | string {
	return value === null ? (fault ?? 'cannot be read') : benchmarkProblem(benchmark, value);
}

/** Returns a short hash of a problem's normalized key. Saves memory when there are many problems. */
export function shortKey(key: string): string {
	return hashOf(promptKey(key));
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url').slice(0, 22);
