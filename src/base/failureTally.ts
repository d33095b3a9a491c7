/** A failure cause: an example message and the number of occurrences. */
export interface FailureGroup {
	readonly message: string;
	readonly count: number;
}

/** Maximum number of distinct causes tracked. All other failures are counted together. */
const maxGroups = 64;
const maxLength = 400;

/**
 * Counts failures by cause. Messages that differ only in numbers or quoted strings (such as a port or a prompt) count
 * as one cause, represented by the first message.
 */
export class FailureTally {
	readonly #groups = new Map<string, { message: string; count: number }>();
	#total = 0;
	#others = 0;

	constructor(messages: Iterable<string> = []) {
		for (const message of messages) this.add(message);
	}

	get total(): number {
		return this.#total;
	}

	add(message: string): void {
		this.#total++;
		const text = message.length > maxLength ? `${message.slice(0, maxLength)}…` : message;
		const cause = causeOf(text);
		const known = this.#groups.get(cause);
		if (known !== undefined) known.count++;
		else if (this.#groups.size < maxGroups) this.#groups.set(cause, { message: text, count: 1 });
		else this.#others++;
	}

	/**
	 * Returns the most frequent causes first. Causes beyond `max` are merged into one group, so the counts add up to the
	 * total.
	 */
	groups(max = 5): FailureGroup[] {
		const sorted = [...this.#groups.values()].sort((a, b) => b.count - a.count);
		const shown = sorted.length > max || this.#others > 0 ? sorted.slice(0, Math.max(1, max - 1)) : sorted;
		const rest = this.#total - shown.reduce((sum, { count }) => sum + count, 0);
		return [...shown, ...(rest === 0 ? [] : [{ message: 'Other reasons', count: rest }])].map((group) => ({
			...group,
		}));
	}

	toString(): string {
		return failureText(this.groups(3));
	}
}

/**
 * Formats groups as one string: `The model is gone (12), Other reasons (3).` A single cause is shown without a count.
 */
export function failureText(groups: readonly FailureGroup[]): string {
	if (groups.length === 1) return groups[0]?.message ?? '';
	return `${groups.map(({ message, count }) => `${message.replace(/[.:\s]+$/, '')} (${count})`).join(', ')}.`;
}

function causeOf(message: string): string {
	return message.replace(/"[^"]*"|'[^']*'|`[^`]*`|“[^”]*”/g, '""').replace(/\d+(?:[.,]\d+)*/g, '0');
}
