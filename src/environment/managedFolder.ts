import { stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { readJson } from '../files/safeFile.ts';
import { decode } from '../protocol/decode.ts';
import { type ManagedEnvironment, managedEnvironmentSchema } from '../protocol/torchEnvironment.ts';
import { labHome } from '../runs/runRegistry.ts';
import { programOf } from './pythons/interpreter.ts';

/** Of the environment variables: another folder for the managed environment. */
export const folderVariable = 'REASONING_LAB_PYTORCH_FOLDER';

/**
 * The folder of the managed environment:
 * - `environments/<name>`: virtual environments, of which one is in use; another one is being made, or still used by a run
 * - `environment.json`: which one is in use; replaced at once when a new one is whole
 * - `logs`: of the last set-ups; `lock`: held by who makes or removes one
 *
 * An environment is made where it stays, because programs in it name their own path, and is nothing until it is named.
 */
export class ManagedFolder {
	readonly path: string;

	constructor(path: string) {
		this.path = path;
	}

	/** @param set as the setting says; null: the variable, else `pytorch` in the per-user data folder */
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

	/** The environment in use; null: none is, or what was is gone. */
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
