import { basename, dirname } from 'node:path';
import { isServerAddress } from '../../core/episode/serverAddress.ts';
import { declaresVerifiers, type EnvironmentSource, environmentSource } from '../../episodes/environmentSource.ts';

/*
 * Environments from other libraries are folders with a manifest: pyproject.toml (verifiers) or openenv.yaml. The
 * editor shows their results in the manifest. They are verified only on request, because verification runs library
 * code.
 */

export const manifestNames: ReadonlySet<string> = new Set(['pyproject.toml', 'openenv.yaml']);

/** Whether a path has the file name of a manifest. Any project can have a pyproject.toml. */
export function isManifest(path: string): boolean {
	return manifestNames.has(basename(path));
}

/** Whether a file is the manifest of an environment. Reads the file without running anything. */
export async function isEnvironmentManifest(path: string): Promise<boolean> {
	if (!isManifest(path)) return false;
	return basename(path) === 'openenv.yaml' || (await declaresVerifiers(path));
}

/** Returns the source of a session's environment: its file, the folder of its manifest, or a server's address. */
export async function sessionSource(file: string): Promise<EnvironmentSource> {
	if (isServerAddress(file)) return await environmentSource(file);
	return isManifest(file) ? await environmentSource(dirname(file)) : { kind: 'file', file };
}
