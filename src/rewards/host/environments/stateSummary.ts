const maxText = 400;
const maxItems = 64;
const maxDepth = 4;
const maxNodes = 2000;

type Summary = Record<string, unknown>;

/**
 * Summarizes the state of an environment as JSON, as state_summary.py does: for users stepping through an episode, and
 * for checks that compare states. The size is bounded, no matter what the environment stores. Private fields (`#name`)
 * are not accessible. Never throws.
 */
export function summarizeState(instance: object): Summary {
	try {
		return new Summarizer().fields(instance, 0);
	} catch {
		// A proxy can throw when its keys are listed.
		return {};
	}
}

class Summarizer {
	#nodes = 0;

	fields(source: object, depth: number): Summary {
		const keys = Object.keys(source);
		const summary: Summary = {};
		for (const key of keys.slice(0, maxItems)) {
			// User code can throw in a getter, and `__proto__` can be a key.
			let value: unknown;
			try {
				value = this.#value((source as Summary)[key], depth);
			} catch {
				value = '(unreadable)';
			}
			Object.defineProperty(summary, key.slice(0, 80), { value, enumerable: true, configurable: true });
		}
		if (keys.length > maxItems) summary['...'] = `${keys.length - maxItems} more`;
		return summary;
	}

	#value(value: unknown, depth: number): unknown {
		this.#nodes++;
		switch (typeof value) {
			case 'undefined':
				return null;
			case 'boolean':
				return value;
			case 'number':
				return Number.isFinite(value) ? value : String(value);
			case 'bigint':
				return cut(value < 1n << 4096n && value > -(1n << 4096n) ? String(value) : '(large integer)');
			case 'string':
				return cut(value);
			case 'object':
				return value === null ? null : this.#object(value, depth);
			default:
				return `(${typeof value})`;
		}
	}

	#object(value: object, depth: number): unknown {
		const kind = kindOf(value);
		if (depth >= maxDepth || this.#nodes > maxNodes) return `(${kind})`;
		if (Array.isArray(value)) return this.#items(value, value.length, depth);
		if (ArrayBuffer.isView(value)) return `(${kind} of ${value.byteLength} bytes)`;
		if (value instanceof Set) {
			// The order of a set is not part of its state, and sorting a large one takes too long.
			if (value.size > maxItems) return `(Set of ${value.size})`;
			const items = [...value].map((one) => this.#value(one, depth + 1));
			return items.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
		}
		if (value instanceof Map) return this.#map(value, depth);
		if (value instanceof Date) return Number.isNaN(value.getTime()) ? '(invalid date)' : value.toISOString();
		const fields = this.fields(value, depth + 1);
		return kind === 'Object' ? fields : { type: kind, ...fields };
	}

	#items(values: readonly unknown[], count: number, depth: number): unknown[] {
		const shown = values.slice(0, maxItems).map((value) => this.#value(value, depth + 1));
		return count <= maxItems ? shown : [...shown, `${count - maxItems} more`];
	}

	#map(map: ReadonlyMap<unknown, unknown>, depth: number): Summary {
		const entries: [string, unknown][] = [];
		for (const [key, value] of map) {
			if (entries.length === maxItems) break;
			entries.push([typeof key === 'object' ? `(${typeof key})` : cut(String(key)), this.#value(value, depth + 1)]);
		}
		if (map.size > maxItems) entries.push(['...', `${map.size - maxItems} more`]);
		return Object.fromEntries(entries);
	}
}

function kindOf(value: object): string {
	const name: unknown = Object.getPrototypeOf(value)?.constructor?.name;
	return typeof name === 'string' && name !== '' ? name.slice(0, 80) : 'Object';
}

function cut(text: string): string {
	return text.length <= maxText ? text : `${text.slice(0, maxText)}… (${text.length} characters)`;
}
