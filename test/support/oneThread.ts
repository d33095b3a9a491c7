import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFiles } from '../../src/runs/runFiles.ts';

/**
 * Limits a prepared run's trainer to one thread. By default, a recipe uses one per CPU; with tensors as small as in
 * tests, the threads mostly spin waiting for each other.
 */
export async function withOneThread(run: string): Promise<string> {
	const path = join(run, runFiles.recipe);
	const recipe = JSON.parse(await readFile(path, 'utf8'));
	await writeFile(path, JSON.stringify({ ...recipe, workers: 1 }, undefined, '\t'));
	return run;
}
