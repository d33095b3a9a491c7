import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { fileLines } from '../files/fileLines.ts';
import { FileLock } from '../files/fileLock.ts';
import { readJson } from '../files/safeFile.ts';
import { decode, decodeOrThrow, type Schema } from '../protocol/decode.ts';
import {
	type ComparedProblem,
	type ComparisonFile,
	type ComparisonResult,
	type ComparisonSummary,
	comparedProblemSchema,
	comparisonFileSchema,
	comparisonFormat,
	comparisonResultSchema,
	comparisonSummarySchema,
} from '../protocol/strategyComparison.ts';

/** File names in a strategy comparison folder; see protocol/strategyComparison.ts. */
export const comparisonFiles = {
	comparison: 'comparison.json',
	problems: 'problems.jsonl',
	results: 'results.jsonl',
	summary: 'summary.json',
	trees: 'trees',
	lock: '.lock',
} as const;

/** Returns the log path of a search in a comparison, relative to the comparison folder. */
export function comparisonTree(point: string, problem: number): string {
	if (!/^\w{1,40}$/.test(point)) throw new Failure('invalid', 'The comparison has no such point.');
	return `${comparisonFiles.trees}/${point}/${problem}.jsonl`;
}

/**
 * Reads `comparison.json` from a folder, or returns null if there is none. Fails with `corrupt`, `invalid` or
 * `version`.
 */
export async function readComparison(path: string): Promise<ComparisonFile | null> {
	const value = await unlessMissing(readJson(path, comparisonFiles.comparison));
	if (value === null) return null;
	const schema = comparisonFileSchema as Schema<ComparisonFile>;
	const file = decodeOrThrow(schema, value, join(path, comparisonFiles.comparison));
	if (file.format <= comparisonFormat) return file;
	throw new Failure(
		'version',
		`${path} was written by a newer version (format ${file.format}).`,
		'Update Reasoning Lab.',
	);
}

/** Reads `summary.json` from a folder. Fails with `missing` if it does not exist yet. */
export async function readComparisonSummary(path: string): Promise<ComparisonSummary> {
	const value = await unlessMissing(readJson(path, comparisonFiles.summary));
	if (value !== null) return decodeOrThrow(comparisonSummarySchema, value, join(path, comparisonFiles.summary));
	throw new Failure('missing', `${path} contains no comparison results.`, 'Choose a comparison folder.');
}

/** Fails with `invalid` if a line is not a problem. */
export async function readComparedProblems(path: string): Promise<ComparedProblem[]> {
	const problems: ComparedProblem[] = [];
	for await (const value of fileLines(path, comparisonFiles.problems)) {
		problems.push(
			decodeOrThrow(comparedProblemSchema, value, `${comparisonFiles.problems}, line ${problems.length + 1}`),
		);
	}
	return problems;
}

/**
 * Yields the results of a comparison in file order, with null for invalid lines. An incomplete last line is skipped.
 */
export async function* comparisonResults(path: string): AsyncIterable<ComparisonResult | null> {
	for await (const value of fileLines(path, comparisonFiles.results)) {
		const decoded = decode(comparisonResultSchema, value);
		yield decoded.ok ? decoded.value : null;
	}
}

/** Returns whether a process is currently running a comparison. */
export async function isBeingCompared(path: string): Promise<boolean> {
	return (await FileLock.holder(join(path, comparisonFiles.lock)).catch(() => null)) !== null;
}

/** Lists the comparisons in a folder, newest name first; links are ignored. */
export async function comparisonsIn(folder: string, limit = 200): Promise<string[]> {
	const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
	const found: string[] = [];
	for (const name of entries
		.filter((entry) => entry.isDirectory())
		.map((entry) => entry.name)
		.sort()
		.reverse()) {
		if (found.length >= limit) break;
		const file = await lstat(join(folder, name, comparisonFiles.comparison)).catch(() => null);
		if (file?.isFile()) found.push(join(folder, name));
	}
	return found;
}

async function unlessMissing<T>(work: Promise<T>): Promise<T | null> {
	return work.catch((error: unknown) => {
		if (Failure.from(error).reason === 'missing') return null;
		throw error;
	});
}
