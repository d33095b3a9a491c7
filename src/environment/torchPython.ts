import { Failure } from '../base/failure.ts';
import { torchPythonVariable } from '../runs/servedCheckpoint.ts';
import { ManagedFolder } from './managedFolder.ts';
import { namedInterpreter } from './pythons/interpreter.ts';
import { probePython } from './pythons/probePython.ts';

/** Environment variable that specifies the Python interpreter for training. */
export const pythonVariable = torchPythonVariable;

/** Editor setting that specifies the Python interpreter for training. */
export const pythonSetting = 'reasoningLab.pytorch.python';

/**
 * Source of the selected Python interpreter: a setting, the environment variable, *Set Up PyTorch Engine*, or the
 * Python extension.
 */
export type TorchPythonSource = 'setting' | 'variable' | 'managed' | 'selected';

export interface TorchPythonSettings {
	/** Path of an executable or environment folder; null or empty if not set. */
	readonly python?: string | null;
	/** Name of the source for error messages; defaults to the setting. */
	readonly namedBy?: string;
	/** Folder of the managed environment; null for the per-user data folder. */
	readonly folder?: string | null;
	/** Returns the interpreter selected in the editor, which is used if it has torch and TRL. */
	readonly selected?: () => Promise<string | null>;
	/** Environment variables; defaults to those of this process. */
	readonly variables?: NodeJS.ProcessEnv;
}

export interface TorchPython {
	/** A path, or a name on PATH. */
	readonly python: string;
	readonly source: TorchPythonSource;
}

/**
 * Returns the Python interpreter for the trainer. In order of precedence: the setting, the environment variable, the
 * managed environment, and the interpreter selected in the editor if it has torch and TRL. Does not check whether the
 * interpreter works; *Doctor* does. Fails with `missing` if there is none or the specified one does not exist.
 */
export async function torchPython(settings: TorchPythonSettings = {}): Promise<TorchPython> {
	const variables = settings.variables ?? process.env;
	if (settings.python) {
		const python = await namedInterpreter(settings.python, settings.namedBy ?? `The setting ${pythonSetting}`);
		return { python, source: 'setting' };
	}
	const variable = variables[pythonVariable];
	if (variable) {
		return {
			python: await namedInterpreter(variable, `The environment variable ${pythonVariable}`),
			source: 'variable',
		};
	}
	const managed = await ManagedFolder.at(settings.folder ?? null, variables).current();
	if (managed !== null) return { python: managed.python, source: 'managed' };
	const selected = (await settings.selected?.()) ?? null;
	if (selected !== null && (await hasTrainer(selected))) return { python: selected, source: 'selected' };
	throw noTorchPython();
}

/** Returns the failure for a missing PyTorch environment, including the fix. */
export function noTorchPython(): Failure {
	return new Failure(
		'missing',
		'No PyTorch environment is set up.',
		'Run Set Up PyTorch Engine in the editor, or reasoning-lab setup-pytorch.',
	);
}

/** Returns whether an interpreter has torch and TRL, based on package metadata. */
async function hasTrainer(python: string): Promise<boolean> {
	const probe = await probePython(python).catch(() => null);
	return probe !== null && [probe.packages.torch, probe.packages.trl].every((version) => typeof version === 'string');
}
