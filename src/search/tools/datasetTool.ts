import { basename, dirname } from 'node:path';
import { checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { AgentTool, ToolOutput } from '../../core/reflexion/agentTool.ts';
import { LineSplitter, parseLine } from '../../files/jsonLines.ts';
import { openRegular } from '../../files/safeFile.ts';
import { BestMatches, termsIn, textQuery } from './textQuery.ts';

export interface DatasetLimits {
	/** Maximum number of bytes to read from the file. */
	readonly bytes: number;
	/** Lines longer than this are skipped. */
	readonly lineBytes: number;
	readonly rows: number;
}

export const datasetLimits: DatasetLimits = { bytes: 512 << 20, lineBytes: 4 << 20, rows: 6 };

const longestText = 1500;
const chunkBytes = 1 << 20;

interface Row {
	/** 1-based line number in the file. */
	readonly line: number;
	readonly text: string;
}

/** Tool that finds rows in a JSONL file by search terms, or a single row by line number. */
export function datasetTool(
	name: string,
	path: string,
	signal: AbortSignal,
	limits: DatasetLimits = datasetLimits,
): AgentTool {
	return {
		name,
		description: `finds rows in ${basename(path)}: enter a few words (a phrase in "quotes"), or "row 12" for one row.`,
		searches: true,
		async run(query) {
			const row = /^\s*(?:row|line)\s+(\d{1,9})\s*$/i.exec(query);
			return row === null
				? search(path, query, signal, limits)
				: search(path, '', signal, limits, Number(row[1] as string));
		},
	};
}

async function search(
	path: string,
	query: string,
	signal: AbortSignal,
	limits: DatasetLimits,
	wantedLine?: number,
): Promise<ToolOutput> {
	const file = basename(path);
	const wanted = textQuery(query);
	if (wantedLine === undefined && wanted.terms.length === 0) {
		throw new Failure('invalid', 'The query has no searchable words.');
	}
	const matches = new BestMatches<Row>(wanted, 50);
	const found: Row[] = [];
	const read = await readRows(path, signal, limits, (line, row) => {
		if (wantedLine !== undefined) {
			if (line === wantedLine) found.push({ line, text: rowText(row) });
			return line < wantedLine;
		}
		const terms = termsIn(JSON.stringify(row).toLowerCase(), wanted);
		matches.document(terms);
		if (terms !== 0) matches.add({ line, text: rowText(row) }, terms);
		return true;
	});
	if (wantedLine !== undefined && found.length === 0) {
		throw new Failure('missing', `${file} has no row ${wantedLine}; it has ${read.rows} rows.`);
	}
	const best = wantedLine === undefined ? matches.best(limits.rows) : found;
	const left = matches.total - best.length;
	const notes = [
		...(best.length === 0 ? [`None of the ${read.rows} rows contains any of these words.`] : []),
		...(left > 0 && wantedLine === undefined ? [`${left} more rows contain some of these words.`] : []),
		...(read.whole ? [] : [`Only the first ${read.rows} rows were read.`]),
		...(read.unreadable > 0 ? [`${read.unreadable} lines are not JSON objects.`] : []),
	];
	return {
		sources: best.map(({ line, text }) => ({ source: `${file}:${line}`, title: null, text })),
		...(notes.length === 0 ? {} : { note: notes.join(' ') }),
	};
}

async function readRows(
	path: string,
	signal: AbortSignal,
	limits: DatasetLimits,
	take: (line: number, row: object) => boolean,
): Promise<{ rows: number; unreadable: number; whole: boolean }> {
	const handle = await openRegular(dirname(path), basename(path));
	const lines = new LineSplitter(limits.lineBytes);
	const buffer = Buffer.alloc(chunkBytes);
	let [number, rows, unreadable, at] = [0, 0, 0, 0];
	const use = (line: Uint8Array): boolean => {
		number++;
		const value = parseLine(line);
		if (typeof value !== 'object' || value === null || Array.isArray(value)) {
			if (line.length > 0) unreadable++;
			return true;
		}
		rows++;
		return take(number, value);
	};
	try {
		for (;;) {
			checkAborted(signal);
			if (at >= limits.bytes) return { rows, unreadable: unreadable + lines.dropped, whole: false };
			const { bytesRead } = await handle.read(buffer, 0, chunkBytes, at);
			if (bytesRead === 0) break;
			at += bytesRead;
			for (const line of lines.push(Uint8Array.prototype.slice.call(buffer, 0, bytesRead))) {
				if (!use(line)) return { rows, unreadable, whole: true };
			}
		}
		for (const line of lines.pending > 0 ? lines.push(Buffer.from('\n')) : []) use(line);
		return { rows, unreadable: unreadable + lines.dropped, whole: true };
	} finally {
		await handle.close();
	}
}

/** Formats a row for reading, with one field per line. */
function rowText(row: object): string {
	return Object.entries(row)
		.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
		.join('\n')
		.slice(0, longestText);
}
