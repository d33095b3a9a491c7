import type * as vscode from 'vscode';
import { policyKeyName } from '../../policies/policyKey.ts';
import type { ServerPolicy } from './policySettings.ts';

const secretOf = (policy: ServerPolicy) => `reasoningLab.policyKey ${policyKeyName(policy)}`;

/**
 * API keys for policies, in the editor's secret storage. A key is tied to a policy's name and origin and is never sent
 * anywhere else.
 */
export class PolicyKeys {
	readonly #secrets: vscode.SecretStorage;

	constructor(secrets: vscode.SecretStorage) {
		this.#secrets = secrets;
	}

	async has(policy: ServerPolicy): Promise<boolean> {
		return ((await this.#secrets.get(secretOf(policy))) ?? '') !== '';
	}

	async set(policy: ServerPolicy, key: string): Promise<void> {
		await this.#secrets.store(secretOf(policy), key);
	}

	async remove(policy: ServerPolicy): Promise<void> {
		await this.#secrets.delete(secretOf(policy));
	}

	/** Returns the available keys, indexed by `policyKeyName`. */
	async of(policies: readonly ServerPolicy[]): Promise<Record<string, string>> {
		const keys: Record<string, string> = {};
		for (const policy of policies) {
			const key = await this.#secrets.get(secretOf(policy));
			if (key) keys[policyKeyName(policy)] = key;
		}
		return keys;
	}
}
