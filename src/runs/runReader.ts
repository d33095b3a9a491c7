import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type * as v from 'valibot';
import { Failure } from '../base/failure.ts';
import { LineSplitter, longestLine, parseLine, splitLines } from '../files/jsonLines.ts';
import { listFolder, openRegular, readJson } from '../files/safeFile.ts';
import { decode, decodeOrThrow } from '../protocol/decode.ts';
import {
	type EvaluationLine,
	type EvaluationSummary,
	evaluationLineSchema,
	evaluationSummarySchema,
} from '../protocol/evaluation.ts';
import { type EventLine, eventLineSchema } from '../protocol/eventLine.ts';
import { decodeMetricsLine, type MetricsLine, metricsLineSchema } from '../protocol/metricsLine.ts';
import { type RolloutLine, rolloutLineSchema } from '../protocol/rolloutLine.ts';
import {
	type RunAnnotation,
	type RunRecord,
	runAnnotationSchema,
	runFormat,
	runRecordSchema,
} from '../protocol/runRecord.ts';
import { annotationFolderOf } from './annotationFolder.ts';
import { runFiles, stepName, stepOf } from './runFiles.ts';

export { type CheckpointInfo, listCheckpoints } from './checkpointFiles.ts';

/** Size limit for run.json. */
const largestRecord = 1 << 20;

/** Fails with `version` if a newer version wrote the file. */
function checkFormat(value: unknown, newest: number, path: string): void {
	const format = typeof value === 'object' && value !== null ? (value as { format?: unknown }).format : undefined;
	if (typeof format === 'number' && format > newest) {
		throw new Failure(
			'version',
			`${path} has format ${format}, but this version only reads formats up to ${newest}.`,
			'Update Reasoning Lab.',
		);
	}
}

/** Reads run.json. Fails with `missing`, `corrupt`, `invalid`, or `version` if a newer version wrote it. */
export async function readRecord(run: string): Promise<RunRecord> {
	const value = await readJson(run, runFiles.record, largestRecord);
	const path = join(run, runFiles.record);
	checkFormat(value, runFormat, path);
	return decodeOrThrow(runRecordSchema, value, path);
}

/**
 * Returns whether a folder has a run.json. If so, the run has started. Fails with the same errors as {@link
 * readRecord}, except for `missing`.
 */
export async function hasRecord(run: string): Promise<boolean> {
	return readRecord(run).then(
		() => true,
		(error: unknown) => {
			if (error instanceof Failure && error.reason === 'missing') return false;
			throw error;
		},
	);
}

/** Reads recipe.json without validating its contents; the core's decoder for resolved recipes does that. */
export async function readResolvedRecipe(run: string): Promise<unknown> {
	const value = await readJson(run, runFiles.recipe);
	checkFormat(value, 1, join(run, runFiles.recipe));
	return value;
}

/**
 * Yields the decoded lines of a file in batches of about `chunkBytes`; incomplete, invalid and overlong lines are
 * skipped. A missing file has no lines. Yields to other work between batches.
 */
export async function* readLines<S extends v.GenericSchema>(
	run: string,
	relative: string,
	schema: S,
	{ chunkBytes = 256 << 10, longest = longestLine }: { chunkBytes?: number; longest?: number } = {},
): AsyncGenerator<v.InferOutput<S>[]> {
	const handle = await openRegular(run, relative).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return null;
		throw error;
	});
	if (handle === null) return;
	try {
		const splitter = new LineSplitter(longest);
		const { size } = await handle.stat();
		for (let position = 0; position < size; ) {
			const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, size - position));
			const { bytesRead } = await handle.read(buffer, 0, buffer.length, position);
			if (bytesRead === 0) break;
			position += bytesRead;
			const batch = decodeLines(splitter.push(buffer.subarray(0, bytesRead)), schema);
			if (batch.length > 0) yield batch;
		}
	} finally {
		await handle.close();
	}
}

/** Returns the lines that match the schema. */
export function decodeLines<S extends v.GenericSchema>(lines: readonly Uint8Array[], schema: S): v.InferOutput<S>[] {
	const values: v.InferOutput<S>[] = [];
	for (const line of lines) {
		const decoded = decode(schema as v.GenericSchema<unknown, v.InferOutput<S>>, parseLine(line));
		if (decoded.ok) values.push(decoded.value);
	}
	return values;
}

/** Same as {@link decodeLines}, for metrics. */
export function decodeMetrics(lines: readonly Uint8Array[]): MetricsLine[] {
	const values: MetricsLine[] = [];
	for (const line of lines) {
		const decoded = decodeMetricsLine(parseLine(line));
		if (decoded !== null) values.push(decoded);
	}
	return values;
}

async function all<T>(batches: AsyncGenerator<T[]>): Promise<T[]> {
	const values: T[] = [];
	for await (const batch of batches) for (const value of batch) values.push(value);
	return values;
}

/** Reads all of metrics.jsonl, in step order. */
export function readMetrics(run: string): Promise<MetricsLine[]> {
	return all(readLines(run, runFiles.metrics, metricsLineSchema));
}

/**
 * Reads the latest lines of metrics.jsonl, from its last `bytes`, for callers that only need the current state of a
 * run.
 */
export async function readMetricsEnd(run: string, bytes = 256 << 10): Promise<MetricsLine[]> {
	const end = await readEnd(run, runFiles.metrics, 0, bytes);
	// Anything before the first line break can be a partial line.
	const { lines } = splitLines(end.whole ? end.bytes : end.bytes.subarray(end.bytes.indexOf(0x0a) + 1));
	return decodeMetrics(lines);
}

export function readEvents(run: string): Promise<EventLine[]> {
	return all(readLines(run, runFiles.events, eventLineSchema));
}

const rolloutFile = (step: number) => `${runFiles.rollouts}/${stepName(step)}.jsonl`;

/** Reads the rollouts that are first used at a step; empty if there are none. */
export function readRollouts(run: string, step: number): Promise<RolloutLine[]> {
	return all(readLines(run, rolloutFile(step), rolloutLineSchema));
}

/** Same as {@link readRollouts}, in batches, for files that are too large to keep in memory. */
export function streamRollouts(run: string, step: number): AsyncGenerator<RolloutLine[]> {
	return readLines(run, rolloutFile(step), rolloutLineSchema);
}

/** Returns the steps that have a rollout file, ascending. */
export async function listRolloutSteps(run: string): Promise<number[]> {
	const entries = await listFolder(run, runFiles.rollouts);
	return entries
		.filter((entry) => entry.isFile())
		.map((entry) => ({ name: entry.name, step: stepOf(entry.name) }))
		.filter(({ name, step }) => step !== null && name === `${stepName(step)}.jsonl`)
		.map(({ step }) => step as number)
		.sort((a, b) => a - b);
}

/** Reads the summaries of all evaluations, sorted by step and name; unreadable ones are skipped. */
export async function readEvaluations(run: string): Promise<EvaluationSummary[]> {
	const summaries: EvaluationSummary[] = [];
	for (const folder of await listFolder(run, runFiles.evaluations)) {
		const step = stepOf(folder.name);
		if (step === null || !folder.isDirectory()) continue;
		summaries.push(...(await readEvaluationsOf(run, step)));
	}
	return summaries.sort((a, b) => a.step - b.step || (a.name < b.name ? -1 : 1));
}

/** Reads the evaluation summaries of one step. */
export async function readEvaluationsOf(run: string, step: number): Promise<EvaluationSummary[]> {
	const summaries: EvaluationSummary[] = [];
	for (const entry of await listFolder(run, runFiles.evaluations, stepName(step))) {
		if (!entry.isFile() || !/^[\w][\w.-]*\.json$/.test(entry.name)) continue;
		const relative = `${runFiles.evaluations}/${stepName(step)}/${entry.name}`;
		const value = await readJson(run, relative).catch(() => undefined);
		const decoded = decode(evaluationSummarySchema, value);
		if (decoded.ok) summaries.push(decoded.value);
	}
	return summaries;
}

/** Reads the samples of one evaluation. */
export function readEvaluationLines(run: string, step: number, name: string): Promise<EvaluationLine[]> {
	if (!/^[\w][\w.-]*$/.test(name)) throw new Failure('invalid', `"${name}" is not a valid evaluation name.`);
	return all(readLines(run, `${runFiles.evaluations}/${stepName(step)}/${name}.jsonl`, evaluationLineSchema));
}

/** Reads the user's annotations on a run from any trainer; empty if there are none. */
export async function readAnnotation(run: string): Promise<RunAnnotation> {
	const folder = await annotationFolderOf(run);
	// For our own runs, check the path below the run folder, because no link may lead out of it.
	const [root, relative] =
		folder === join(run, runFiles.annotations) ? [run, runFiles.person] : [folder, 'person.json'];
	const value = await readJson(root, relative, largestRecord).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return { format: 1 };
		throw error;
	});
	checkFormat(value, 1, join(root, relative));
	return decodeOrThrow(runAnnotationSchema, value, join(root, relative));
}

/** Reads the last `bytes` of engine.log as text. */
export function readLogEnd(run: string, bytes = 16 << 10): Promise<string> {
	return readLogFrom(run, 0, bytes);
}

/** Reads engine.log from a position, limited to its last `bytes`; empty if there is no log. */
export async function readLogFrom(run: string, start: number, bytes = 16 << 10): Promise<string> {
	const end = await readEnd(run, runFiles.log, start, bytes).catch(() => null);
	return end === null ? '' : end.bytes.toString('utf8');
}

/**
 * Reads the last bytes of a file after a position; `whole` is true if nothing was skipped. A missing file counts as
 * empty.
 */
async function readEnd(
	run: string,
	relative: string,
	start: number,
	limit: number,
): Promise<{ bytes: Buffer; whole: boolean }> {
	const handle = await openRegular(run, relative).catch((error: unknown) => {
		if (error instanceof Failure && error.reason === 'missing') return null;
		throw error;
	});
	if (handle === null) return { bytes: Buffer.alloc(0), whole: true };
	try {
		const { size } = await handle.stat();
		const buffer = Buffer.alloc(Math.max(0, Math.min(limit, size - start)));
		const { bytesRead } = await handle.read(buffer, 0, buffer.length, size - buffer.length);
		return { bytes: buffer.subarray(0, bytesRead), whole: buffer.length >= size - start };
	} finally {
		await handle.close();
	}
}

export interface DiskUse {
	/** Total size of all regular files, in bytes. */
	readonly total: number;
	/** Sizes in bytes, keyed by top-level name in the run folder: `rollouts`, `checkpoints`, `metrics.jsonl`... */
	readonly parts: Readonly<Record<string, number>>;
}

/** Returns a run's disk usage; links are not followed. */
export async function diskUse(run: string): Promise<DiskUse> {
	const parts: Record<string, number> = {};
	for (const entry of await readdir(run, { withFileTypes: true })) {
		parts[entry.name] = await bytesOf(join(run, entry.name), entry);
	}
	return { total: Object.values(parts).reduce((sum, bytes) => sum + bytes, 0), parts };
}

const statsAtOnce = 64;

async function bytesOf(path: string, entry: Dirent): Promise<number> {
	if (entry.isFile()) return (await lstat(path).catch(() => null))?.size ?? 0;
	if (!entry.isDirectory()) return 0;
	let sum = 0;
	const entries = await readdir(path, { withFileTypes: true }).catch(() => [] as Dirent[]);
	for (let i = 0; i < entries.length; i += statsAtOnce) {
		const sizes = entries.slice(i, i + statsAtOnce).map((inner) => bytesOf(join(path, inner.name), inner));
		for (const size of await Promise.all(sizes)) sum += size;
	}
	return sum;
}
