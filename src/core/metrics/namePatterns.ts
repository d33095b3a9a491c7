export interface NameMatch<Entry> {
	readonly entry: Entry;
	/** Inserts the matched parts into another pattern. */
	fill(pattern: string): string;
}

const part = /\{(\w+)\}/g;

/** Finds the entry whose pattern matches a name. `{part}` matches any text. Exact names win, then the first match. */
export class NamePatterns<Entry> {
	readonly #exact = new Map<string, Entry>();
	readonly #patterns: { readonly regex: RegExp; readonly parts: readonly string[]; readonly entry: Entry }[] = [];

	constructor(entries: readonly Entry[], patternOf: (entry: Entry) => string) {
		for (const entry of entries) {
			const pattern = patternOf(entry);
			const parts = [...pattern.matchAll(part)].map((match) => match[1] as string);
			if (parts.length === 0) {
				if (!this.#exact.has(pattern)) this.#exact.set(pattern, entry);
				continue;
			}
			const source = pattern
				.split(part)
				.map((text, i) => (i % 2 === 1 ? '(.+?)' : text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')))
				.join('');
			this.#patterns.push({ regex: new RegExp(`^${source}$`, 's'), parts, entry });
		}
	}

	match(name: string): NameMatch<Entry> | null {
		const exact = this.#exact.get(name);
		if (exact !== undefined) return { entry: exact, fill: (pattern) => pattern };
		// No trainer writes longer names, and matching is quadratic.
		if (name.length > 1000) return null;
		for (const { regex, parts, entry } of this.#patterns) {
			const values = regex.exec(name);
			if (!values) continue;
			const filled = new Map(parts.map((key, i) => [key, values[i + 1] as string]));
			return { entry, fill: (pattern) => pattern.replaceAll(part, (_, key: string) => filled.get(key) ?? '') };
		}
		return null;
	}
}
