import type { TreeEvent } from '../../protocol/treeLog.ts';
import { type Reversal, SearchTree } from './searchTree.ts';

/**
 * Replays a log, with random access to any point in time. Seeking takes time proportional to the number of events in
 * between, in either direction: changes are saved when an event is first applied, so dragging a slider never rebuilds
 * the tree.
 */
export class Replay {
	readonly #events: TreeEvent[] = [];
	/** Undo information for the applied events. */
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

	/** Returns the tree after the first n events. The next call modifies it; use `copy` to keep it. */
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
