import { opendir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { ownFormat } from './annotationFolder.ts';
import { findFormats } from './importers/findFormats.ts';
import { compareNames } from './importers/pathPattern.ts';
import type { RunFormat } from './importers/runFormat.ts';
import { isRunFolder } from './runFolders.ts';

/** A folder that was recognized as a run. */
export interface FoundRun {
	readonly folder: string;
	/** The matching formats, most likely first; only `reasoning-lab` for our own runs. */
	readonly formats: readonly FoundFormat[];
}

type FoundFormat = Pick<RunFormat, 'name' | 'title' | 'anyFolder' | 'tracker'>;

export interface SearchOptions {
	readonly depth?: number;
	/** Maximum number of folders to search. */
	readonly folders?: number;
	readonly runs?: number;
	readonly millis?: number;
	/**
	 * Whether the user chose the folder; true by default. If not, it is not read as data, and is searched further if
	 * it matches a format whose files are in subfolders with any name, because it can be a project with such a run.
	 */
	readonly chosen?: boolean;
}

export interface RunsBelow {
	readonly runs: readonly FoundRun[];
	/** Whether a limit was reached before everything was searched. */
	readonly cut: boolean;
	/** Number of folders searched. */
	readonly folders: number;
}

const passedOver = new Set(['node_modules', '__pycache__', 'site-packages', 'venv']);
/** Folders that often repeat runs written elsewhere. They are searched only if there are no other trainers' runs. */
const repeated = 'wandb';
const maxNames = 50_000;
/** Hidden folder where ART stores its runs. */
const hiddenRuns = '.art';

/**
 * Finds runs from any trainer in a folder and below it, closer ones first. Run folders are not searched for further
 * runs, and links are not followed.
 */
export async function runsBelow(
	folder: string,
	{ depth = 6, folders = 5000, runs = 200, millis = 20_000, chosen = true }: SearchOptions = {},
	signal?: AbortSignalLike,
): Promise<RunsBelow> {
	const found: FoundRun[] = [];
	const end = performance.now() + millis;
	const later: string[] = [];
	let looked = 0;
	let data: readonly FoundFormat[] = [];
	/** Searches folders level by level, and returns false if a limit was reached. */
	const search = async (start: readonly string[]): Promise<boolean> => {
		let level = start;
		for (let i = 0; i <= depth && level.length > 0; i++) {
			const next: string[] = [];
			for (const path of level) {
				checkAborted(signal);
				if (looked >= folders || found.length >= runs || performance.now() > end) return false;
				looked++;
				const { formats, onRequest } = await formatsOf(path);
				if (path === folder && chosen) data = onRequest;
				if (formats.length > 0) found.push({ folder: path, formats });
				const further = formats.length === 0 || (path === folder && !chosen && formats[0]?.anyFolder === true);
				if (!further || i === depth) continue;
				for (const inner of await foldersIn(path)) (basename(inner) === repeated ? later : next).push(inner);
			}
			level = next;
		}
		return true;
	};
	let whole = await search([folder]);
	const isForeign = ({ formats }: FoundRun) => formats[0]?.name !== ownFormat;
	if (whole && !found.some(isForeign)) whole = await search([...later]);
	if (!chosen && found.length > 1 && found[0]?.folder === folder) {
		if (isProject(found)) found.shift();
		else found.length = 1;
	}
	// If nothing in it is a run, the folder itself can be read as data.
	if (whole && found.length === 0 && data.length > 0) found.push({ folder, formats: data });
	return { runs: found, cut: !whole, folders: looked };
}

/** Whether the first folder is not a run itself, because runs of other trainers were found in it. */
function isProject([first, ...others]: readonly FoundRun[]): boolean {
	const own = first?.formats[0]?.name;
	return others.some(({ formats: [format] }) => format?.name !== own && format?.tracker !== true);
}

/** Returns the formats of a folder and, separately, those that apply only to a folder the user chose. */
async function formatsOf(
	path: string,
): Promise<{ formats: readonly FoundFormat[]; onRequest: readonly FoundFormat[] }> {
	if (await isRunFolder(path)) return { formats: [{ name: ownFormat, title: 'Reasoning Lab' }], onRequest: [] };
	const found = await findFormats(path);
	// Formats are sorted by likelihood.
	if (found.some(({ onRequest }) => !onRequest)) return { formats: found, onRequest: [] };
	return { formats: [], onRequest: found };
}

async function foldersIn(path: string): Promise<string[]> {
	const names: string[] = [];
	let seen = 0;
	try {
		for await (const entry of await opendir(path, { bufferSize: 512 })) {
			// A folder with this many names contains program data rather than a user's runs.
			if (++seen > maxNames) break;
			if (!entry.isDirectory() || passedOver.has(entry.name)) continue;
			if (!entry.name.startsWith('.') || entry.name === hiddenRuns) names.push(entry.name);
		}
	} catch {
		// The folder cannot be listed, or was removed. Use the names read so far.
	}
	return names.sort(compareNames).map((name) => join(path, name));
}
