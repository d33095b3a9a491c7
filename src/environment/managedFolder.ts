import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { readJson } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { type ManagedEnvironment, managedEnvironmentSchema } from '../protocol/torchEnvironment.ts';
import { labHome } from '../runs/runRegistry.ts';
import { programOf } from './pythons/interpreter.ts';

/** Environment variable that overrides the folder of the managed environment. */
export const folderVariable = 'REASONING_LAB_PYTORCH_FOLDER';

/**
 * The folder of the managed environment:
 * - `environments/<name>`: virtual environments; one is active, others may be under construction or still in use by a
 *   run
 * - `environment.json`: the active environment; replaced atomically once a new one is complete
 * - `logs`: logs of recent setups; `lock`: held while an environment is created or removed
 *
 * An environment is created at its final path, because its scripts contain that path, and is not used until
 * `environment.json` refers to it.
 */
export class ManagedFolder {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	/** @param set folder from the setting; null for the environment variable or, without it, the per-user data folder */
	static at(set: string | null = null, environment: NodeJS.ProcessEnv = process.env): ManagedFolder {
		const named = set ?? environment[folderVariable] ?? '';
		return new ManagedFolder(isAbsolute(named) ? named : join(labHome(environment), 'pytorch'));
	}

	get environments(): string {
		return join(this.path, 'environments');
	}

	get logs(): string {
		return join(this.path, 'logs');
	}

	get lock(): string {
		return join(this.path, 'lock');
	}

	get recordFile(): string {
		return join(this.path, 'environment.json');
	}

	/** Returns the active environment, or null if there is none or its files are missing. */
	async current(): Promise<{ readonly record: ManagedEnvironment; readonly python: string } | null> {
		const decoded = decode(
			managedEnvironmentSchema,
			await readJson(this.path, 'environment.json', 1 << 20).catch(() => undefined),
		);
		if (!decoded.ok) return null;
		const python = programOf(join(this.environments, decoded.value.folder));
		return (await stat(python).catch(() => null))?.isFile() ? { record: decoded.value, python } : null;
	}
}
