import { createHash } from 'node:crypto';
import { basename, dirname, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { createTask } from '../core/dataset/createTask.ts';
import { parseDatasetLine, promptKey } from '../core/dataset/datasetRows.ts';
import type { Problem } from '../core/dataset/problem.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import { type BenchmarkJudge, benchmarkProblem, benchmarks } from '../core/evaluation/benchmarks.ts';
import { decodeResolvedRecipe } from '../core/recipe/resolve.ts';
import { type ResolvedDataset, resolvedRecipeSchema } from '../core/recipe/resolvedRecipe.ts';
import type { BenchmarkName } from '../protocol/benchmarks.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import type { TaskDataset } from '../protocol/recipe.ts';
import type { ProblemsSpec } from '../protocol/strategyComparison.ts';
import type { SearchProblem } from '../protocol/treeLog.ts';
import { LineSplitter, parseLine } from '../runs/jsonLines.ts';
import { openDataset } from '../runs/openDataset.ts';
import { readResolvedRecipe } from '../runs/runReader.ts';
import { openRegular } from '../runs/safeFile.ts';

/** A line that is no problem. */
export interface ProblemFault {
	/** Counted from 1. */
	readonly line: number;
	readonly message: string;
}

/** Problems in a fixed order, read as they are wanted. */
export interface ProblemSet {
	/** What people call it. */
	readonly name: string;
	/** Its generator, whose own rule then says what is right; null: mathematical equivalence does. */
	readonly task: TaskDataset | null;
	/** How answers are judged where there is no generator; absent: by mathematical equivalence. */
	readonly judge?: BenchmarkJudge;
	/**
	 * Each problem once: of several with the same key the first. Fails with `missing`, `invalid` when there is nothing to read.
	 * @param onFault what cannot be read is left out and told
	 */
	problems(onFault: (fault: ProblemFault) => void): AsyncIterable<Problem>;
}

/** Of a generator, where no limit is given. */
const defaultTaskProblems = 500;
/** The longest line, in bytes. */
const longestRow = 16 << 20;

/** Opens a set of problems; its paths start at `folder`. Fails with `missing` and `invalid` before any is read. */
export async function openProblemSet(spec: ProblemsSpec, folder: string): Promise<ProblemSet> {
	switch (spec.from) {
		case 'file': {
			const path = resolve(folder, spec.path);
			await (await openRegular(dirname(path), basename(path))).close();
			const { prompt, answer, limit, benchmark } = spec;
			const columns = { prompt, answer, solution: 'solution' };
			const read: RowReader =
				benchmark === undefined
					? (line, number) => readRow(line, number, columns)
					: (line) => readBenchmarkRow(line, benchmark);
			return {
				name: benchmark === undefined ? basename(path) : `${benchmark} (${basename(path)})`,
				task: null,
				judge: benchmark === undefined ? 'math' : benchmarks[benchmark].judge,
				problems: (onFault) => distinct(fileProblems(path, read, onFault), limit ?? Number.POSITIVE_INFINITY),
			};
		}
		case 'task': {
			const source = taskSource(createTask(spec.task));
			const limit = spec.limit ?? defaultTaskProblems;
			if (spec.part === 'training') {
				const problems = () => distinct(trainingProblems(source, 0), limit);
				return { name: `training problems of ${source.name}`, task: spec.task, problems };
			}
			const problems = source.heldOut(limit);
			return { name: `held-out problems of ${source.name}`, task: spec.task, problems: () => listed(problems) };
		}
		case 'run': {
			const run = resolve(folder, spec.run);
			const recipe = decodeResolvedRecipe(await readResolvedRecipe(run), `The recipe of ${basename(run)}`);
			return datasetProblems(recipe.dataset, recipe.seed, spec, basename(run));
		}
		case 'dataset': {
			const dataset = decodeOrThrow(resolvedRecipeSchema.entries.dataset, spec.dataset, 'The dataset');
			const name = 'task' in dataset ? dataset.task : basename(dataset.path);
			return datasetProblems(dataset, spec.seed, spec, name);
		}
	}
}

async function datasetProblems(
	dataset: ResolvedDataset,
	seed: number,
	spec: { readonly part: 'held-out' | 'training'; readonly limit?: number | undefined },
	of: string,
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

/** A run's problems in the order of its training; they come again and again, so the distinct ones end at a long stretch without. */
async function* trainingProblems(
	source: { training(seed: number, index: number): Problem },
	seed: number,
): AsyncIterable<Problem> {
	for (let i = 0; ; i++) yield source.training(seed, i);
}

/** So many problems in a row that were there before: there are no others. */
const mostRepeated = 100_000;

async function* distinct(problems: AsyncIterable<Problem>, limit: number): AsyncIterable<Problem> {
	const seen = new Set<string>();
	let repeated = 0;
	if (limit <= 0) return;
	for await (const problem of problems) {
		const key = shortKey(problem.key);
		if (seen.has(key)) {
			if (++repeated >= mostRepeated) return;
			continue;
		}
		repeated = 0;
		seen.add(key);
		yield problem;
		if (seen.size >= limit) return;
	}
}

/** The problem of a line of a JSONL file, counted from 1. Fails with `missing`, `invalid`, naming the line. */
export async function readProblemRow(path: string, wanted: number): Promise<SearchProblem> {
	const columns = { prompt: 'prompt', answer: 'answer', solution: 'solution' };
	for await (const { row, number } of fileRows(path, (line, number) => readRow(line, number, columns))) {
		if (number < wanted) continue;
		if (row === null) break;
		if (typeof row !== 'string') {
			return { prompt: row.prompt, answer: row.answer, row: row.row as Record<string, unknown> };
		}
		throw new Failure('invalid', `${path}, line ${number}: it ${row}.`, 'Write the problem in place of --dataset.');
	}
	throw new Failure('missing', `${path} has no row ${wanted}.`, 'Name another one with --row.');
}

async function* fileProblems(
	path: string,
	read: RowReader,
	onFault: (fault: ProblemFault) => void,
): AsyncIterable<Problem> {
	let found = 0;
	for await (const { row, number } of fileRows(path, read)) {
		if (row === null) continue;
		if (typeof row === 'string') {
			onFault({ line: number, message: row });
			continue;
		}
		found++;
		yield row;
	}
	if (found > 0) return;
	throw new Failure('invalid', `${path} has no problem.`, 'Write one JSON object with a prompt on each line.');
}

interface Columns {
	readonly prompt: string;
	readonly answer: string;
	readonly solution: string;
}

/** The lines of a file by their numbers, from 1; a text says why a line is no problem, null that it is blank. */
async function* fileRows(
	path: string,
	read: RowReader,
): AsyncIterable<{ readonly number: number; readonly row: Problem | string | null }> {
	const handle = await openRegular(dirname(path), basename(path));
	try {
		const lines = new LineSplitter(longestRow);
		const buffer = Buffer.alloc(1 << 18);
		let number = 0;
		for (let ended = false; !ended; ) {
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, null);
			ended = bytesRead === 0;
			const dropped = lines.dropped;
			const chunk = ended ? Buffer.from('\n') : Uint8Array.prototype.slice.call(buffer, 0, bytesRead);
			const whole = lines.push(chunk);
			// A chunk is shorter than the limit: what is too long has begun before it.
			if (lines.dropped > dropped) yield { number: ++number, row: `is longer than ${longestRow} bytes` };
			for (const line of whole) yield { number: ++number, row: read(line, number) };
		}
	} finally {
		await handle.close();
	}
}

/** A problem, why the line is none, or null for a blank line. */
type RowReader = (line: Uint8Array, number: number) => Problem | string | null;

function readBenchmarkRow(line: Uint8Array, benchmark: BenchmarkName): Problem | string | null {
	if (line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) return null;
	const value = parseLine(line);
	return value === undefined ? 'is not JSON' : benchmarkProblem(benchmark, value);
}

/** A problem, why the line is none, or null for a blank line. A row without an answer has none. */
function readRow(line: Uint8Array, number: number, columns: Columns): Problem | string | null {
	const bytes = line.at(-1) === 0x0d ? line.subarray(0, -1) : line;
	const value = parseLine(bytes);
	const lacking = isRecord(value) && !Object.hasOwn(value, columns.answer);
	// A column that somebody named is there, or they meant another.
	if (lacking && columns.answer !== 'answer') return `has no column ${JSON.stringify(columns.answer)}`;
	const row = lacking ? { ...value, [columns.answer]: null } : null;
	const text = row === null ? Buffer.from(bytes).toString('utf8') : JSON.stringify(row);
	const parsed = parseDatasetLine(text, number, columns);
	if (parsed.kind === 'blank') return null;
	return parsed.kind === 'row' ? parsed.problem : parsed.fault.message;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === 'object' && value !== null && !Array.isArray(value);

/** A text that is the same for the same problem, however the key is written: what is kept of many problems is short. */
export function shortKey(key: string): string {
	return createHash('sha256').update(promptKey(key)).digest('base64url').slice(0, 22);
}
