/** Binary min-heap; `push` and `pop` take O(log n). */
export class Heap<T> {
	readonly #compare: (a: T, b: T) => number;
	readonly #items: T[] = [];

	/** @param compare as in `Array.sort` */
	constructor(compare: (a: T, b: T) => number) {
		this.#compare = compare;
	}

	get first(): T | undefined {
		return this.#items[0];
	}

	push(item: T): void {
		const items = this.#items;
		let at = items.length;
		items.push(item);
		while (at > 0) {
			const above = (at - 1) >>> 1;
			if (this.#compare(item, items[above] as T) >= 0) break;
			items[at] = items[above] as T;
			at = above;
		}
		items[at] = item;
	}

	/** Removes and returns the smallest item, or undefined if the heap is empty. */
	pop(): T | undefined {
		const items = this.#items;
		const first = items[0];
		const last = items.pop();
		if (items.length === 0 || last === undefined) return first;
		let at = 0;
		for (;;) {
			let below = 2 * at + 1;
			if (below >= items.length) break;
			const other = below + 1;
			if (other < items.length && this.#compare(items[other] as T, items[below] as T) < 0) below = other;
			if (this.#compare(last, items[below] as T) <= 0) break;
			items[at] = items[below] as T;
			at = below;
		}
		items[at] = last;
		return first;
	}
}
