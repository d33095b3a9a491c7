import { createHash } from 'node:crypto';

/** Keys are often whole prompts, so keys longer than this are stored as hashes. */
const longestKey = 128;

function shortKey(key: string | number): string | number {
	if (typeof key === 'number' || key.length <= longestKey) return key;
	return `#${createHash('sha256').update(key).digest('base64')}`;
}

export interface Numbered {
	readonly group: number;
	readonly index: number;
}

/** Numbers the groups in a step in order of first appearance, and the rollouts within each group. */
export class GroupNumbers {
	readonly #groups = new Map<string | number, { readonly group: number; size: number }>();
	#count = 0;
	/** The consecutive group that is being filled. */
	#open: { readonly key: string | number; readonly group: number; size: number } | null = null;

	/** Returns the number of the next rollout for this group key, wherever it is in the step. */
	byKey(key: string | number): Numbered {
		const short = shortKey(key);
		let entry = this.#groups.get(short);
		if (entry === undefined) {
			entry = { group: this.#count++, size: 0 };
			this.#groups.set(short, entry);
		}
		return { group: entry.group, index: entry.size++ };
	}

	/**
	 * Returns the number of the next rollout in a file whose groups are consecutive, with `size` rollouts each; null
	 * starts a new group whenever the key changes.
	 */
	consecutive(key: string | number, size: number | null): Numbered {
		const short = shortKey(key);
		if (this.#open === null || this.#open.key !== short || this.#open.size === size) {
			this.#open = { key: short, group: this.#count++, size: 0 };
		}
		return { group: this.#open.group, index: this.#open.size++ };
	}

	/** Ends the current consecutive group, such as at the end of a file. */
	close(): void {
		this.#open = null;
	}
}

/**
 * Determines the group size shared by all groups in a file from the lengths of runs of equal keys; null if there is no
 * shared size.
 */
export class GroupSize {
	#key: string | number | null = null;
	#length = 0;
	#size = 0;

	add(key: string | number): void {
		const short = shortKey(key);
		if (this.#length > 0 && short !== this.#key) this.#end();
		this.#key = short;
		this.#length++;
	}

	finish(): number | null {
		if (this.#length > 0) this.#end();
		return this.#size > 1 ? this.#size : null;
	}

	#end(): void {
		this.#size = greatestCommonDivisor(this.#size, this.#length);
		this.#length = 0;
	}
}

function greatestCommonDivisor(a: number, b: number): number {
	let [x, y] = [a, b];
	while (y !== 0) [x, y] = [y, x % y];
	return x;
}
