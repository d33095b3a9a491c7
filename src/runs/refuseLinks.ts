import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Failure } from '../base/failure.ts';
import { runFiles } from './runFiles.ts';

/**
 * Fails with `invalid` if one of the run's own files or folders is a link or anything else that would redirect writes
 * out of the run.
 */
export async function refuseLinks(run: string): Promise<void> {
	const own = new Set<string>(Object.values(runFiles));
	for (const entry of await readdir(run, { withFileTypes: true })) {
		if (!own.has(entry.name) || entry.isFile() || entry.isDirectory()) continue;
		throw new Failure(
			'invalid',
			`${join(run, entry.name)} is neither a file nor a folder, so nothing was written.`,
			'Remove it and try again.',
		);
	}
}
