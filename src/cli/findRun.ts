import { lstat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runOfCheckpoint } from '../runs/prepareRun.ts';
import { findRuns, isRunFolder } from '../runs/runFolders.ts';
import { RunRegistry } from '../runs/runRegistry.ts';

/** Returns all runs under the current folder or in the user's registry. */
export async function knownRuns(folder = process.cwd()): Promise<string[]> {
	const [near, registered] = await Promise.all([findRuns([folder]), new RunRegistry().list()]);
	return [...new Set([...near, ...registered])];
}

/** Returns the run name: the folder name without its trailing timestamp and suffix. */
const nameOf = (folder: string): string => folder.replace(/-\d{8}-\d{6}-[0-9a-f]+$/, '');

/**
 * Finds a run by its folder, a checkpoint inside it, its folder name, or its name if unique. Fails with `missing` or
 * `invalid`.
 */
export async function findRun(named: string): Promise<string> {
	const path = resolve(named);
	for (const candidate of [path, runOfCheckpoint(path)]) if (await isRunFolder(candidate)) return candidate;
	if (await lstat(path).catch(() => null)) {
		throw new Failure('invalid', `${path} is not a run: run.json is missing.`, 'Specify a folder in runs/.');
	}
	const known = await knownRuns();
	const whole = known.filter((run) => basename(run) === named);
	const matches = whole.length > 0 ? whole : known.filter((run) => nameOf(basename(run)) === named);
	if (matches.length === 1) return matches[0] as string;
	if (matches.length > 1) {
		throw new Failure(
			'invalid',
			`Several runs are named ${named}: ${matches.join(', ')}.`,
			'Specify the run folder instead.',
		);
	}
	throw new Failure('missing', `Run ${named} not found.`, 'To list known runs, use reasoning-lab status.');
}

/** Returns an existing folder from any trainer unchanged, or looks up one of our own runs by name. */
export async function findAnyRun(named: string): Promise<string> {
	const path = resolve(named);
	return (await lstat(path).catch(() => null)) === null ? findRun(named) : path;
}
