/** Replaces a secret. */
export const redacted = '[redacted]';

/**
 * Shortest secret that is searched for, in characters. Servers without authentication are given placeholders such as "EMPTY" or
 * "none", which are words of ordinary text.
 */
export const minSecretLength = 8;

/** Replaces the secrets that were sent to a server wherever its answer repeats them, so that no log or rollout holds one. */
export class Redactor {
	/** Longest first: a secret may contain another one. */
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

	/** A redacted text with more at its end; only the place where they meet and what is new are searched. */
	append(text: string, more: string): string {
		const [longest] = this.#secrets;
		if (longest === undefined) return text + more;
		const from = Math.max(0, text.length - longest.length + 1);
		return text.slice(0, from) + this.text(text.slice(from) + more);
	}

	/** The body of an answer, JSON or not: texts in JSON may be written with escapes. */
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

	/** A decoded JSON value with every text in it redacted, names of fields included. */
	value(value: unknown): unknown {
		if (this.#secrets.length === 0) return value;
		if (typeof value === 'string') return this.text(value);
		if (Array.isArray(value)) return value.map((one) => this.value(one));
		if (typeof value !== 'object' || value === null) return value;
		return Object.fromEntries(Object.entries(value).map(([name, one]) => [this.text(name), this.value(one)]));
	}

	/** How many characters at the end of a text may be the start of a secret that is still being written. */
	pending(text: string): number {
		let most = 0;
		for (const secret of this.#secrets) {
			for (let length = Math.min(secret.length - 1, text.length); length > most; length--) {
				if (text.endsWith(secret.slice(0, length))) most = length;
			}
		}
		return most;
	}
}
