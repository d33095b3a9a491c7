import type * as vscode from 'vscode';
import { Failure } from '../../base/failure.ts';

const secretOf = (origin: string) => `reasoningLab.apiKey ${origin}`;
const listKey = 'reasoningLab.apiKeyOrigins';

/**
 * API keys for judges and process models, in the editor's secret storage. A key is tied to the origin it was entered
 * for and is never sent to any other origin.
 */
export class ApiKeys {
	readonly #secrets: vscode.SecretStorage;
	/** Stores the list of origins; the keys themselves are secrets. */
	readonly #memory: vscode.Memento;

	constructor(secrets: vscode.SecretStorage, memory: vscode.Memento) {
		this.#secrets = secrets;
		this.#memory = memory;
	}

	get origins(): readonly string[] {
		const stored: unknown = this.#memory.get(listKey);
		return Array.isArray(stored) ? stored.filter((entry): entry is string => typeof entry === 'string').sort() : [];
	}

	async set(origin: string, key: string): Promise<void> {
		await this.#secrets.store(secretOf(origin), key);
		await this.#memory.update(listKey, [...new Set([...this.origins, origin])]);
	}

	async remove(origin: string): Promise<void> {
		await this.#secrets.delete(secretOf(origin));
		await this.#memory.update(
			listKey,
			this.origins.filter((entry) => entry !== origin),
		);
	}

	/** Returns all keys by origin. */
	async all(): Promise<Record<string, string>> {
		const keys: Record<string, string> = {};
		for (const origin of this.origins) {
			const key = await this.#secrets.get(secretOf(origin));
			if (key) keys[origin] = key;
		}
		return keys;
	}
}

/**
 * Returns the origin of a URL: "https://api.example.com/v1" becomes "https://api.example.com". Fails with `invalid`.
 */
export function originOf(address: string): string {
	let url: URL;
	try {
		url = new URL(address.trim());
	} catch {
		throw new Failure('invalid', `"${address}" is not a valid URL.`, 'Enter a URL such as https://api.example.com.');
	}
	if (url.protocol !== 'https:' && url.protocol !== 'http:') {
		throw new Failure('invalid', `"${address}" is not a web URL.`, 'Enter a URL such as https://api.example.com.');
	}
	return url.origin;
}
