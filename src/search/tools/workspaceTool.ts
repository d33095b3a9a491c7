import { constants, type Dirent } from 'node:fs';
import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkAborted } from '../../base/async.ts';
import { Failure } from '../../base/failure.ts';
import type { AgentTool, ToolOutput, ToolSource } from '../../core/reflexion/agentTool.ts';
import { openRegular } from '../../files/safeFile.ts';
import { BestMatches, type TextQuery, termsIn, textQuery } from './textQuery.ts';

export interface WorkspaceLimits {
	/** Maximum number of files to search. */
	readonly files: number;
	/** Files larger than this are skipped. */
	readonly fileBytes: number;
	/** Maximum total size of the files to search, in bytes. */
	readonly bytes: number;
	readonly depth: number;
	readonly milliseconds: number;
	/** Maximum number of locations to return. */
	readonly places: number;
}

export const workspaceLimits: WorkspaceLimits = {
	files: 20_000,
	fileBytes: 2 << 20,
	bytes: 128 << 20,
	depth: 24,
	milliseconds: 20_000,
	places: 6,
};

/**
 * Folders with generated or third-party files, and files that are not project text. Names that start with a dot are
 * skipped too.
 */
const ignored = new Set(['node_modules', '__pycache__', 'venv', 'dist', 'out', 'build', 'target', 'coverage']);
const linesAround = 4;
const longestText = 1500;
/** Maximum number of lines that `read` returns. */
const maxLines = 120;
const longestRead = 8000;

interface Place {
	readonly path: string;
	/** 1-based line number. */
	readonly line: number;
	readonly text: string;
}

/** Tool that searches a folder's text files for words. It does not follow links or read hidden files. */
export function workspaceTool(
	name: string,
	root: string,
	signal: AbortSignal,
	limits: WorkspaceLimits = workspaceLimits,
): AgentTool {
	return {
		name,
		description:
			'searches the text files of the workspace: write a few words (a phrase in "quotes"), or "read docs/a.md:10-60" for lines of a file.',
		searches: true,
		async run(query) {
			const wanted = /^\s*read\s+(\S.*?)(?::(\d{1,9})(?:\s*-\s*(\d{1,9}))?)?\s*$/i.exec(query);
			if (wanted !== null && /[./]/.test(wanted[1] as string)) {
				return readLines(root, wanted[1] as string, Number(wanted[2] ?? 1), wanted[3], limits);
			}
			return search(root, query, signal, limits);
		},
	};
}

async function search(root: string, query: string, signal: AbortSignal, limits: WorkspaceLimits): Promise<ToolOutput> {
	const wanted = textQuery(query);
	if (wanted.terms.length === 0) throw new Failure('invalid', 'The query has no searchable words.');
	const matches = new BestMatches<Place>(wanted);
	const until = performance.now() + limits.milliseconds;
	const cut = new Set<string>();
	let [files, bytes] = [0, 0];
	for await (const path of textFiles(root, limits, () => cut.add('deeply nested folders'))) {
		checkAborted(signal);
		if (files >= limits.files || bytes >= limits.bytes || performance.now() > until) {
			cut.add(`everything after the first ${files} files`);
			break;
		}
		const text = await readText(root, path, limits.fileBytes);
		if (text === null) continue;
		files++;
		bytes += text.length;
		addPlaces(matches, path, text, wanted);
	}
	const best = spread(matches.best(10 * limits.places), limits.places);
	const left = matches.total - best.length;
	const notes = [
		...(best.length === 0 ? [`None of the ${files} files contains any of these words.`] : []),
		...(left > 0 ? [`${left} more locations contain some of these words.`] : []),
		...(cut.size > 0 ? [`Not searched: ${[...cut].join(', ')}.`] : []),
	];
	return {
		sources: best.map(({ path, line, text }): ToolSource => ({ source: `${path}:${line}`, title: null, text })),
		...(notes.length === 0 ? {} : { note: notes.join(' ') }),
	};
}

/** Returns at most two locations per file, so that one file does not fill the list. */
function spread(places: readonly Place[], limit: number): Place[] {
	const counts = new Map<string, number>();
	const chosen = places.filter(({ path }) => {
		counts.set(path, (counts.get(path) ?? 0) + 1);
		return (counts.get(path) as number) <= 2;
	});
	return chosen.slice(0, limit);
}

/** Adds a window of lines around each match; the search for the next match continues after the window. */
function addPlaces(matches: BestMatches<Place>, path: string, text: string, query: TextQuery): void {
	const lower = text.toLowerCase();
	const inFile = termsIn(lower, query) | termsIn(path.toLowerCase(), query);
	matches.document(inFile);
	if (inFile === 0) return;
	const lines = text.split('\n');
	const low = lines.map((line) => line.slice(0, 10_000).toLowerCase());
	const inName = termsIn(path.toLowerCase(), query);
	for (let i = 0; i < lines.length; ) {
		if (termsIn(low[i] as string, query) === 0) {
			i++;
			continue;
		}
		const from = Math.max(0, i - 1);
		const to = Math.min(lines.length, i + linesAround + 1);
		const terms = termsIn(low.slice(from, to).join('\n'), query) | inName;
		matches.add({ path, line: i + 1, text: lines.slice(from, to).join('\n').trim().slice(0, longestText) }, terms);
		i = to;
	}
}

/** Yields the paths of regular files in name order, relative to the root, with slashes. */
async function* textFiles(root: string, limits: WorkspaceLimits, onCut: () => void): AsyncGenerator<string> {
	const open: { readonly path: string; readonly depth: number }[] = [{ path: '', depth: 0 }];
	for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
		const { path, depth } = folder;
		const entries: Dirent[] = await readdir(join(root, path), { withFileTypes: true }).catch((error: unknown) => {
			if (path === '') throw Failure.from(error, 'Cannot read the workspace');
			return [];
		});
		const seen = entries
			.filter((entry) => !entry.name.startsWith('.') && !ignored.has(entry.name))
			.sort((a, b) => (a.name < b.name ? -1 : 1));
		for (const entry of seen) if (entry.isFile()) yield path === '' ? entry.name : `${path}/${entry.name}`;
		const folders = seen.filter((entry) => entry.isDirectory());
		if (folders.length > 0 && depth >= limits.depth) onCut();
		else {
			for (const entry of folders.reverse()) {
				open.push({ path: path === '' ? entry.name : `${path}/${entry.name}`, depth: depth + 1 });
			}
		}
	}
}

/** Returns null if the file is too large, not text, or gone. */
async function readText(root: string, path: string, limit: number): Promise<string | null> {
	// Do not follow a link or wait for a pipe that has replaced the file since the folder was listed.
	const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
	const handle = await open(join(root, path), flags).catch(() => null);
	if (handle === null) return null;
	try {
		const stat = await handle.stat();
		if (!stat.isFile() || stat.size > limit) return null;
		const bytes = Buffer.alloc(stat.size);
		const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
		const read = bytes.subarray(0, bytesRead);
		return read.subarray(0, 8192).includes(0) ? null : read.toString('utf8');
	} catch {
		return null;
	} finally {
		await handle.close();
	}
}

async function readLines(
	root: string,
	path: string,
	first: number,
	last: string | undefined,
	limits: WorkspaceLimits,
): Promise<ToolOutput> {
	const relative = path.replaceAll('\\', '/').replace(/^\.\//, '');
	if (relative.split('/').some((part) => part.startsWith('.') || part === 'node_modules')) {
		throw new Failure('denied', `${relative} is hidden or outside the workspace, so it cannot be read.`);
	}
	const handle = await openRegular(root, relative).catch((error: unknown) => {
		const { reason } = Failure.from(error);
		throw new Failure(
			reason,
			reason === 'missing' ? `The workspace has no file ${relative}.` : `${relative} is not a readable file.`,
		);
	});
	await handle.close();
	const text = await readText(root, relative, limits.fileBytes);
	if (text === null) throw new Failure('unsupported', `${relative} is too large or not a text file.`);
	const lines = text.split('\n');
	const from = Math.max(1, first);
	const to = Math.min(lines.length, last === undefined ? from + 59 : Number(last), from + maxLines - 1);
	if (from > lines.length) throw new Failure('missing', `${relative} has ${lines.length} lines.`);
	const read = lines
		.slice(from - 1, to)
		.join('\n')
		.slice(0, longestRead);
	return {
		sources: [{ source: `${relative}:${from}`, title: null, text: read }],
		note: `Lines ${from} to ${to} of ${lines.length}.`,
	};
}
