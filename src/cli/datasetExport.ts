import { resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { createTask } from '../core/dataset/createTask.ts';
import type { Problem } from '../core/dataset/problem.ts';
import type { ProblemSource } from '../core/dataset/problemSource.ts';
import { taskSource } from '../core/dataset/taskSource.ts';
import { AtomicLines } from '../files/atomicLines.ts';
import { formatLine } from '../files/jsonLines.ts';
import type { DatasetPart } from '../protocol/datasetPart.ts';
import { decodeOrThrow } from '../protocol/decode.ts';
import { taskDatasetSchema, taskNames } from '../protocol/recipeKeys/recipe.ts';
import { problemRow } from '../runs/dataset/taskTable.ts';
import { openDataset } from '../runs/openDataset.ts';
import { resolveRecipeFile } from '../runs/prepareRun.ts';
import { type CliOutput, printable } from './cliOutput.ts';

interface ExportOptions {
	readonly rows?: number;
	readonly out?: string;
	readonly part?: DatasetPart;
	readonly seed?: number;
	readonly replace?: boolean;
}

const defaultRows = 1000;
const maxRows = 10_000_000;

/**
 * Implements `dataset export`: writes problems from a generator or a recipe's dataset, one per line. Fails with
 * `invalid`, `missing`, `exists`, `denied`, or `full`.
 */
export async function exportProblems(what: string, options: ExportOptions, output: CliOutput): Promise<void> {
	const { rows = defaultRows, seed = 0, part = 'training' } = options;
	if (rows < 1 || rows > maxRows) throw new Failure('invalid', `--rows must be between 1 and ${maxRows}.`);
	if (options.out === undefined) {
		throw new Failure('invalid', 'dataset export requires an output file.', 'Use --out FILE.');
	}
	const source = await sourceOf(what);
	const out = resolve(options.out);
	const file = await AtomicLines.open(out, { replace: options.replace === true });
	let written = 0;
	try {
		for (const problem of problemsOf(source, part, seed, rows)) {
			await file.append(formatLine(problemRow(problem)));
			written++;
		}
		await file.commit();
	} finally {
		await file.discard();
	}
	output.object({ kind: 'dataset', file: out, source: source.name, part, seed, rows: written });
	output.line(printable(`${out}: ${written} ${part} problems from ${source.name}`));
}

/**
 * Yields training problems: each row of a file once, in an order set by the seed, or an endless stream from a
 * generator.
 */
function* problemsOf(source: ProblemSource, part: DatasetPart, seed: number, rows: number): Iterable<Problem> {
	if (part === 'held-out') {
		yield* source.heldOut(rows);
		return;
	}
	const max = Math.min(rows, source.trainingRows ?? rows);
	for (let index = 0; index < max; index++) yield source.training(seed, index);
}

async function sourceOf(what: string): Promise<ProblemSource> {
	const isTask = (taskNames as readonly string[]).includes(what);
	if (isTask || what.trimStart().startsWith('{')) {
		return taskSource(createTask(decodeOrThrow(taskDatasetSchema, isTask ? { task: what } : parsed(what), 'The task')));
	}
	if (!what.endsWith('.json')) {
		throw new Failure(
			'invalid',
			`"${what}" is neither a task nor a recipe.`,
			`Specify a recipe file or one of: ${taskNames.join(', ')}.`,
		);
	}
	return (await openDataset((await resolveRecipeFile(what)).dataset)).source;
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		throw new Failure(
			'invalid',
			'The task is not a JSON object.',
			'Use the format \'{"task": "addition", "digits": 2}\'.',
		);
	}
}
