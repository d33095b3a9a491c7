import type { TreeEvent } from '../../protocol/treeLog.ts';
import { type Reversal, SearchTree } from './searchTree.ts';

/**
 * A log of which any moment can be looked at. Going there costs the events in between, forward or back: what an event changed
 * is kept when it is first gone through, so that a slider makes nothing anew.
 */
export class Replay {
	readonly #events: TreeEvent[] = [];
	/** Of the events that were gone through. */
	readonly #reversals: Reversal[] = [];
	readonly #tree = new SearchTree();

	constructor(events: Iterable<TreeEvent> = []) {
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
		const tree = this.#tree;
		const to = Math.max(0, Math.min(Math.floor(n), this.#events.length));
		for (let i = tree.events; i < to; i++) {
			this.#reversals[i] = tree.advance(this.#events[i] as TreeEvent, this.#reversals[i] ?? null);
		}
		for (let i = tree.events - 1; i >= to; i--)
			tree.takeBack(this.#events[i] as TreeEvent, this.#reversals[i] as Reversal);
		return tree;
	}
}
