import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { ownFormat } from './annotationFolder.ts';
import { findFormats } from './importers/findFormats.ts';
import { compareNames } from './importers/pathPattern.ts';
import { isRunFolder } from './runRegistry.ts';

/** A folder that was recognized as a run. */
export interface FoundRun {
	readonly folder: string;
	/** Names of the formats that fit, most likely first; `reasoning-lab` alone for our own. */
	readonly formats: readonly { readonly name: string; readonly title: string }[];
}

export interface SearchLimits {
	readonly depth?: number;
	/** Folders that are inspected. */
	readonly folders?: number;
	readonly runs?: number;
	readonly millis?: number;
}

export interface RunsBelow {
	readonly runs: readonly FoundRun[];
	/** A limit was reached before all was inspected. */
	readonly cut: boolean;
	/** Folders that were inspected. */
	readonly folders: number;
}

const passedOver = new Set(['node_modules', '__pycache__', 'site-packages', 'venv', 'wandb']);
const mostNames = 50_000;
/** ART keeps its runs in a hidden folder. */
const hiddenRuns = '.art';

/**
 * Runs of any trainer in a folder and below it, the nearer ones first; what lies inside a run is not inspected. Links are
 * not followed.
 */
export async function runsBelow(
	folder: string,
	{ depth = 6, folders = 5000, runs = 200, millis = 20_000 }: SearchLimits = {},
	signal?: AbortSignalLike,
): Promise<RunsBelow> {
	const found: FoundRun[] = [];
	const end = performance.now() + millis;
	let level = [folder];
	let looked = 0;
	for (let i = 0; i <= depth && level.length > 0; i++) {
		const next: string[] = [];
		for (const path of level) {
			checkAborted(signal);
			if (looked >= folders || found.length >= runs || performance.now() > end) {
				return { runs: found, cut: true, folders: looked };
			}
			looked++;
			const formats = await formatsOf(path);
			if (formats.length > 0) found.push({ folder: path, formats });
			else if (i < depth) next.push(...(await foldersIn(path)));
		}
		level = next;
	}
	return { runs: found, cut: false, folders: looked };
}

async function formatsOf(path: string): Promise<FoundRun['formats']> {
	if (await isRunFolder(path)) return [{ name: ownFormat, title: 'Reasoning Lab' }];
	return (await findFormats(path)).map(({ name, title }) => ({ name, title }));
}

async function foldersIn(path: string): Promise<string[]> {
	const names: string[] = [];
	let seen = 0;
	try {
		for await (const entry of await opendir(path, { bufferSize: 512 })) {
			// A folder of so many names is where a program keeps its files, not where a person keeps runs.
			if (++seen > mostNames) break;
			if (!entry.isDirectory() || passedOver.has(entry.name)) continue;
			if (!entry.name.startsWith('.') || entry.name === hiddenRuns) names.push(entry.name);
		}
	} catch {
		// Not to be listed, or gone: what was read is inspected.
	}
	return names.sort(compareNames).map((name) => join(path, name));
}
