import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { type AbortSignalLike, checkAborted } from '../base/async.ts';
import { isEnvironmentFile } from '../core/episode/environmentLanguage.ts';
import type { EnvironmentKind } from '../protocol/environmentHost.ts';
import { declaresVerifiers } from './environmentSource.ts';

export interface FoundEnvironment {
	readonly kind: EnvironmentKind;
	/** Absolute path of a file, or of the folder of a package. */
	readonly path: string;
}

const passedOver = new Set(['node_modules', '__pycache__', 'site-packages', 'venv', 'dist', 'runs']);
const limits = { depth: 6, folders: 5000, environments: 500 } as const;

/**
 * Finds environment files, and folders with an environment from another library, in a folder and its subfolders,
 * nearest first. Only reads manifests; does not run code or follow links. Fails with `cancelled`.
 */
export async function findEnvironments(folder: string, signal?: AbortSignalLike): Promise<FoundEnvironment[]> {
	const found: FoundEnvironment[] = [];
	let level = [folder];
	let looked = 0;
	for (let depth = 0; depth <= limits.depth && level.length > 0; depth++) {
		const next: string[] = [];
		for (const path of level) {
			checkAborted(signal);
			if (++looked > limits.folders || found.length >= limits.environments) return found;
			const { files, folders } = await namesIn(path);
			if (files.has('openenv.yaml')) found.push({ kind: 'openenv', path });
			else if (files.has('pyproject.toml') && (await declaresVerifiers(join(path, 'pyproject.toml')))) {
				found.push({ kind: 'verifiers', path });
			}
			for (const name of [...files].filter(isEnvironmentFile).sort()) {
				found.push({ kind: 'file', path: join(path, name) });
			}
			next.push(...folders.sort().map((name) => join(path, name)));
		}
		level = next;
	}
	return found.slice(0, limits.environments);
}

/** Returns the regular files and the subfolders of a folder, or none if it cannot be read. */
async function namesIn(path: string): Promise<{ readonly files: Set<string>; readonly folders: string[] }> {
	const files = new Set<string>();
	const folders: string[] = [];
	const opened = await opendir(path).catch(() => null);
	if (opened === null) return { files, folders };
	for await (const entry of opened) {
		if (entry.isFile()) files.add(entry.name);
		else if (entry.isDirectory() && !entry.name.startsWith('.') && !passedOver.has(entry.name))
			folders.push(entry.name);
	}
	return { files, folders };
}
