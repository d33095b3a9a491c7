import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runFiles } from '../../src/runs/runFiles.ts';

/**
 * Lets the trainer of a prepared run compute with one thread. A recipe takes as many as there are processors; with tensors
 * of tests they wait for each other, and spin meanwhile.
 */
export async function withOneThread(run: string): Promise<string> {
	const path = join(run, runFiles.recipe);
	const recipe = JSON.parse(await readFile(path, 'utf8'));
	await writeFile(path, JSON.stringify({ ...recipe, workers: 1 }, undefined, '\t'));
	return run;
}
