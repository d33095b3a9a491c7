import { basename, dirname, resolve } from 'node:path';
import { parseBoundedJson } from '../base/boundedJson.ts';
import { Failure } from '../base/failure.ts';
import { formatCounted } from '../base/format.ts';
import { episodesPath, isEnvironmentFile } from '../core/episode/environmentLanguage.ts';
import { type ParsedEpisodes, parseEpisodes } from '../core/episode/labeledEpisode.ts';
import { datasetComment } from '../core/reward/verification/datasetComment.ts';
import { drawLines } from '../rewards/datasetLines.ts';
import { readHandWritten } from '../rewards/handWrittenFile.ts';
import { readHead } from '../rewards/rewardData.ts';

export interface EnvironmentDataRequest {
	/** Absolute path of the environment file. */
	readonly file: string;
	/** Text of the environment file, if it is open in an editor. */
	readonly text?: string;
	/** Absolute path of a JSONL file selected by the user. Takes precedence over the `# @dataset` comment. */
	readonly dataset?: string;
	/** Maximum number of rows. */
	readonly rows: number;
	readonly seed: number;
	/** Rows of an environment from another library, used if the user has not selected a file. */
	readonly own?: (count: number) => Promise<readonly EnvironmentRow[]>;
	readonly signal?: AbortSignal;
}

/** Labeled episodes and the absolute path of their file. */
export interface EpisodesFile extends ParsedEpisodes {
	readonly file: string;
}

export type EnvironmentRow = Readonly<Record<string, unknown>>;

/** Rows for an environment. */
export interface EnvironmentData {
	/** File name of the dataset; null if there is none and the only row has no columns. */
	readonly described: string | null;
	/** Rows and their 0-based numbers in the file, in file order. Every row has every column; missing values are null. */
	readonly rows: readonly { readonly row: number; readonly columns: EnvironmentRow }[];
	readonly remarks: readonly string[];
	/** Source files of the data. */
	readonly files: readonly string[];
	/** Labeled episodes next to the environment; undefined if there are none. */
	readonly labeled?: EpisodesFile;
}

/**
 * Reads a seeded sample of the rows for an environment, from the file that the user selected or the one named in a
 * `# @dataset FILE` comment. Fails if a file that the user selected cannot be read; an unreadable file from a comment
 * only results in a remark.
 */
export async function environmentData(request: EnvironmentDataRequest): Promise<EnvironmentData> {
	const data = await rowsFor(request);
	if (!isEnvironmentFile(request.file)) return data;
	const file = episodesPath(request.file);
	try {
		const text = await readHandWritten(file, 'labeled episodes file', 'Split it.');
		return { ...data, files: [...data.files, file], labeled: { file, ...parseEpisodes(text) } };
	} catch (error) {
		const { reason, message } = Failure.from(error);
		return reason === 'missing' ? data : { ...data, remarks: [...data.remarks, message] };
	}
}

async function rowsFor(request: EnvironmentDataRequest): Promise<EnvironmentData> {
	const { file, dataset } = request;
	if (dataset !== undefined) return await readRows(dataset, request);
	if (request.own !== undefined) return ownRows(await request.own(request.rows), basename(file));
	const comment = datasetComment(request.text ?? (await readHead(file)));
	const without = (remarks: readonly string[], files: readonly string[] = []): EnvironmentData => ({
		described: null,
		rows: [{ row: 0, columns: {} }],
		remarks,
		files,
	});
	if (comment === null) {
		return without([
			`No dataset: reset is called without arguments. Add "# @dataset FILE" to ${basename(file)} to provide rows.`,
		]);
	}
	const named = comment.dataset;
	if (named === null) return without([`Line ${comment.line}: ${comment.fault ?? 'invalid comment'}`]);
	if (!('path' in named) || typeof named.path !== 'string') {
		return without([`Line ${comment.line}: environments can only use rows from a JSONL file.`]);
	}
	const path = resolve(dirname(file), named.path);
	try {
		return await readRows(path, request);
	} catch (error) {
		if (request.signal?.aborted) throw error;
		return without([Failure.from(error).toString()], [path]);
	}
}

function ownRows(rows: readonly EnvironmentRow[], described: string): EnvironmentData {
	if (rows.length === 0) throw new Failure('invalid', `${described} has no rows.`, 'Check its arguments.');
	return { described, rows: rows.map((columns, row) => ({ row, columns })), remarks: [], files: [] };
}

async function readRows(
	path: string,
	{ rows: wanted, seed, signal }: EnvironmentDataRequest,
): Promise<EnvironmentData> {
	const lines = await drawLines(path, seed, signal === undefined ? {} : { signal });
	const found: { offset: number; row: number; columns: Record<string, unknown> }[] = [];
	let faults = 0;
	let firstFault = '';
	try {
		while (found.length < wanted && faults < 100) {
			const line = await lines.read();
			if (line === null) break;
			if (line.text.trim() === '') continue;
			const columns = rowOf(line.text);
			if (columns !== null) found.push({ offset: line.offset, row: (line.line ?? 1) - 1, columns });
			else if (faults++ === 0) firstFault = line.line === null ? 'a line' : `line ${line.line}`;
		}
	} finally {
		await lines.close();
	}
	const described = basename(path);
	if (found.length === 0) throw new Failure('invalid', `${path} has no rows.`, 'Write one JSON object per line.');
	// Datasets have the same columns in every row.
	const names = new Set(found.flatMap(({ columns }) => Object.keys(columns)));
	const rows = found
		.sort((a, b) => a.offset - b.offset)
		.map(({ row, columns }) => ({
			row,
			columns: Object.fromEntries([...names].map((name) => [name, columns[name] ?? null])),
		}));
	const remarks =
		faults === 0 ? [] : [`${described}: ${formatCounted(faults, 'line')} skipped; ${firstFault} is not a JSON object.`];
	return { described, rows, remarks, files: [path] };
}

function rowOf(text: string): Record<string, unknown> | null {
	try {
		const value = parseBoundedJson(text.replace(/^\uFEFF/, ''));
		return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : null;
	} catch {
		return null;
	}
}
