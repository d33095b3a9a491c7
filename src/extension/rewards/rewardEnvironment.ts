import type * as vscode from 'vscode';
import type { ApiKeys } from './apiKeys.ts';
import type { PythonInterpreter } from './pythonInterpreter.ts';
import { rewardSettings } from './rewardSettings.ts';

/** Environment variables for scoring processes, whether started by the editor or by engines. */
export class RewardEnvironment {
	readonly #python: PythonInterpreter;
	readonly #keys: ApiKeys;

	constructor(python: PythonInterpreter, keys: ApiKeys) {
		this.#python = python;
		this.#keys = keys;
	}

	async of(file?: vscode.Uri): Promise<Record<string, string>> {
		const [python, keys] = await Promise.all([this.#python.path(file), this.#keys.all()]);
		const sandbox = rewardSettings.sandboxMode(file);
		return {
			...(python === null ? {} : { REASONING_LAB_PYTHON: python }),
			...(sandbox === 'auto' ? {} : { REASONING_LAB_SANDBOX: sandbox }),
			...(Object.keys(keys).length === 0 ? {} : { REASONING_LAB_API_KEYS: JSON.stringify(keys) }),
		};
	}
}
