import { Failure } from '../base/failure.ts';
import { torchPythonVariable } from '../runs/servedCheckpoint.ts';
import { ManagedFolder } from './managedFolder.ts';
import { namedInterpreter } from './pythons/interpreter.ts';
import { probePython } from './pythons/probePython.ts';

/** Of the environment variables: the Python that trains. */
export const pythonVariable = torchPythonVariable;

/** Of the editor's settings: the Python that trains. */
export const pythonSetting = 'reasoningLab.pytorch.python';

/** Who names the Python: a setting, the variable, *Set Up PyTorch Engine*, or the Python extension. */
export type TorchPythonSource = 'setting' | 'variable' | 'managed' | 'selected';

export interface TorchPythonSettings {
	/** A program or the folder of an environment; null or empty: none is set. */
	readonly python?: string | null;
	/** Who names it, for sentences; default: the setting. */
	readonly namedBy?: string;
	/** Where the managed environment lies; null: in the per-user data folder. */
	readonly folder?: string | null;
	/** The interpreter that is selected in the editor; it is taken when it has torch and TRL. */
	readonly selected?: () => Promise<string | null>;
	/** Default: this process's own. */
	readonly variables?: NodeJS.ProcessEnv;
}

export interface TorchPython {
	/** A path, or a name on PATH. */
	readonly python: string;
	readonly source: TorchPythonSource;
}

/**
 * The Python that the trainer runs in: of the setting, else of the variable, else the managed environment's, else the one
 * that is selected in the editor and has torch and TRL. Whether what is named works, shows when it is used: *Doctor* says it
 * beforehand. Fails with `missing` when there is none, or when what is named does not exist.
 */
export async function torchPython(settings: TorchPythonSettings = {}): Promise<TorchPython> {
	const variables = settings.variables ?? process.env;
	if (settings.python) {
		const python = await namedInterpreter(settings.python, settings.namedBy ?? `The setting ${pythonSetting}`);
		return { python, source: 'setting' };
	}
	const variable = variables[pythonVariable];
	if (variable) {
		return { python: await namedInterpreter(variable, `The variable ${pythonVariable}`), source: 'variable' };
	}
	const managed = await ManagedFolder.at(settings.folder ?? null, variables).current();
	if (managed !== null) return { python: managed.python, source: 'managed' };
	const selected = (await settings.selected?.()) ?? null;
	if (selected !== null && (await hasTrainer(selected))) return { python: selected, source: 'selected' };
	throw noTorchPython();
}

/** That there is no Python with PyTorch, and what to do. */
export function noTorchPython(): Failure {
	return new Failure(
		'missing',
		'No Python environment with PyTorch is set up.',
		'Run Set Up PyTorch Engine in the editor, or reasoning-lab setup-pytorch.',
	);
}

/** Whether an interpreter has torch and TRL, by their metadata. */
async function hasTrainer(python: string): Promise<boolean> {
	const probe = await probePython(python).catch(() => null);
	return probe !== null && [probe.packages.torch, probe.packages.trl].every((version) => typeof version === 'string');
}
