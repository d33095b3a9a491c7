import type { TreeEvent } from '../../protocol/treeLog.ts';
import { type Reversal, SearchTree } from './searchTree.ts';

/**
 * A log that can be viewed at any moment. Moving costs the events in between, in either direction: the changes of an
 * event are kept when it is first applied, so that a slider rebuilds nothing.
 */
export class Replay {
	readonly #events: TreeEvent[] = [];
	/** Reversals of the applied events. */
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

	/** Returns the tree built by the first n events. It changes with the next call; use `copy` to keep it. */
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
