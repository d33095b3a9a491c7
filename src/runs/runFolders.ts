import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pipelineFiles, stageNamePattern } from '../protocol/pipelineFiles.ts';
import { runFiles } from './runFiles.ts';

/** Returns whether a folder is a run: it contains run.json, or recipe.json if it has not started. */
export async function isRunFolder(path: string): Promise<boolean> {
	for (const name of [runFiles.record, runFiles.recipe]) {
		if ((await lstat(join(path, name)).catch(() => null))?.isFile()) return true;
	}
	return false;
}

const passedOver = new Set(['node_modules', '__pycache__', 'dist', 'venv']);
/** Maximum number of folders to search in a workspace. */
const maxFolders = 20_000;

/**
 * Finds run folders in `runs/` anywhere below the given folders, up to a depth; dependency and hidden folders are
 * skipped.
 */
export async function findRuns(folders: readonly string[], depth = 5): Promise<string[]> {
	const found: string[] = [];
	let level = [...new Set(folders)];
	let visited = 0;
	for (let i = 0; i <= depth && level.length > 0; i++) {
		const next: string[] = [];
		for (const folder of level) {
			if (++visited > maxFolders) return found;
			for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[])) {
				if (!entry.isDirectory() || entry.name.startsWith('.') || passedOver.has(entry.name)) continue;
				const path = join(folder, entry.name);
				if (entry.name === 'runs') found.push(...(await runsIn(path)));
				else next.push(path);
			}
		}
		level = next;
	}
	return found;
}

/** Returns whether a folder is a pipeline, which contains the runs of its stages. */
export async function isPipelineFolder(path: string): Promise<boolean> {
	return (await lstat(join(path, pipelineFiles.record)).catch(() => null))?.isFile() ?? false;
}

/**
 * Returns the run folders directly in a `runs` folder, and those of the pipelines in it, except folders that a pipeline
 * has set aside.
 */
export async function runsIn(folder: string): Promise<string[]> {
	return runsAmong(folder, (name) => !name.startsWith('.'), true);
}

async function runsAmong(folder: string, wanted: (name: string) => boolean, pipelines: boolean): Promise<string[]> {
	const found: string[] = [];
	for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [] as Dirent[])) {
		if (!entry.isDirectory() || !wanted(entry.name)) continue;
		const path = join(folder, entry.name);
		if (await isRunFolder(path)) found.push(path);
		else if (pipelines && (await isPipelineFolder(path))) {
			found.push(...(await stageRunsIn(path)));
		}
	}
	return found;
}

/** Returns the stage runs of a pipeline, except folders that were set aside. */
export async function stageRunsIn(pipeline: string): Promise<string[]> {
	return runsAmong(pipeline, (name) => stageNamePattern.test(name), false);
}
