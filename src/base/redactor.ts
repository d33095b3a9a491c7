/** Replacement text for a secret. */
export const redacted = '[redacted]';

/**
 * Minimum length of a secret to redact, in characters. Shorter values are often placeholders such as "EMPTY" or "none"
 * for servers without authentication, which also occur in ordinary text.
 */
export const minSecretLength = 8;

/** Redacts secrets that a server echoes in its responses, to keep them out of logs and rollouts. */
export class Redactor {
	/** Longest first, because one secret can contain another. */
	readonly #secrets: readonly string[];

	constructor(secrets: readonly (string | null | undefined)[]) {
		const long = secrets.filter((one): one is string => typeof one === 'string' && one.length >= minSecretLength);
		const forms = long.flatMap((secret) => [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
		this.#secrets = [...new Set(forms)].sort((a, b) => b.length - a.length);
	}

	text(text: string): string {
		let clean = text;
		for (const secret of this.#secrets) clean = clean.replaceAll(secret, redacted);
		return clean;
	}

	/** Appends text to text that is already redacted. Only the new text and the boundary are searched. */
	append(text: string, more: string): string {
		const [longest] = this.#secrets;
		if (longest === undefined) return text + more;
		const from = Math.max(0, text.length - longest.length + 1);
		return text.slice(0, from) + this.text(text.slice(from) + more);
	}

	/** Redacts a response body. JSON bodies are decoded first because their strings can contain escapes. */
	body(text: string): string {
		if (this.#secrets.length === 0) return text;
		let value: unknown;
		try {
			value = JSON.parse(text);
		} catch {
			return this.text(text);
		}
		return JSON.stringify(this.value(value));
	}

	/** Redacts every string in a decoded JSON value, including field names. */
	value(value: unknown): unknown {
		if (this.#secrets.length === 0) return value;
		if (typeof value === 'string') return this.text(value);
		if (Array.isArray(value)) return value.map((one) => this.value(one));
		if (typeof value !== 'object' || value === null) return value;
		return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.text(name), this.value(one)]));
	}

	/** Returns the number of trailing characters that could be the start of a secret. */
	pending(text: string): number {
		let max = 0;
		for (const secret of this.#secrets) {
			for (let length = Math.min(secret.length - 1, text.length); length > max; length--) {
				if (text.endsWith(secret.slice(0, length))) max = length;
			}
		}
		return max;
	}
}
