import type { TreeEvent } from '../../protocol/treeLog.ts';
import { SearchTree } from './searchTree.ts';

export interface Keyframes {
	/** Events between two trees that are kept; the nearest one before a moment is what it is made from. */
	readonly every: number;
	/** Trees that are kept at most: then every second one goes, and they are twice as far apart. */
	readonly most: number;
}

/**
 * A log of which any moment can be looked at. Going on costs the events in between; going back costs a copy of a tree that is
 * kept and the events since then.
 */
export class Replay {
	readonly #events: TreeEvent[] = [];
	#keyframes: SearchTree[] = [];
	#every: number;
	readonly #most: number;
	#tree = new SearchTree();

	constructor(events: Iterable<TreeEvent> = [], { every, most }: Keyframes = { every: 10_000, most: 16 }) {
		this.#every = every;
		this.#most = most;
		for (const event of events) this.#events.push(event);
	}

	get events(): readonly TreeEvent[] {
		return this.#events;
	}

	get length(): number {
		return this.#events.length;
	}

	append(event: TreeEvent): void {
		this.#events.push(event);
	}

	/**
	 * The tree that the first n events make. It changes with the next call: who wants to keep it takes a `copy`.
	 */
	treeAt(n: number): SearchTree {
		const to = Math.max(0, Math.min(Math.floor(n), this.#events.length));
		// Who only follows a log needs no trees to go back to.
		const back = to < this.#tree.events;
		if (back) {
			const before = this.#keyframes.findLast((tree) => tree.events <= to);
			this.#tree = before?.copy() ?? new SearchTree();
		}
		for (let i = this.#tree.events; i < to; i++) {
			this.#tree.apply(this.#events[i] as TreeEvent);
			if (back && (i + 1) % this.#every === 0) this.#keep();
		}
		return this.#tree;
	}

	#keep(): void {
		if (this.#tree.events <= (this.#keyframes.at(-1)?.events ?? 0)) return;
		this.#keyframes.push(this.#tree.copy());
		if (this.#keyframes.length < this.#most) return;
		this.#every *= 2;
		this.#keyframes = this.#keyframes.filter((tree) => tree.events % this.#every === 0);
	}
}
