import { lstat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runOfCheckpoint } from '../runs/prepareRun.ts';
import { findRuns, isRunFolder, RunRegistry } from '../runs/runRegistry.ts';

/** Every run below the current folder and in the user's registry. */
export async function knownRuns(folder = process.cwd()): Promise<string[]> {
	const [near, registered] = await Promise.all([findRuns([folder]), new RunRegistry().list()]);
	return [...new Set([...near, ...registered])];
}

/** The run that a person names: its folder, a checkpoint in it, or the folder's name. Fails with `missing`, `invalid`. */
export async function findRun(named: string): Promise<string> {
	const path = resolve(named);
	for (const candidate of [path, runOfCheckpoint(path)]) if (await isRunFolder(candidate)) return candidate;
	if (await lstat(path).catch(() => null)) {
		throw new Failure('invalid', `${path} is not a run: it has no run.json.`, 'Name a folder in runs/.');
	}
	const matches = (await knownRuns()).filter((run) => basename(run) === named);
	if (matches.length === 1) return matches[0] as string;
	if (matches.length > 1) {
		throw new Failure('invalid', `Several runs are called ${named}: ${matches.join(', ')}.`, 'Name the folder.');
	}
	throw new Failure('missing', `There is no run ${named}.`, 'See reasoning-lab status for those that are known.');
}
