import { Replay } from '../../src/core/search/replay.ts';
import { SearchTree } from '../../src/core/search/searchTree.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';
import type { TreeEvent } from '../../src/protocol/treeLog.ts';
import type { TreeSource, TreeViewEvent } from '../../src/protocol/treeMessages.ts';
import { eventsOfLines } from './eventLines.ts';

export type SideName = 'main' | 'other';
type EventsMessage = Extract<TreeViewEvent, { type: 'events' }>;

/** A tree with its events. `latest` is built from all of them, `shown` from those up to the replay position. */
export class TreeSide {
	readonly name: SideName;
	source: TreeSource;
	/** Whether everything that was in the log when it was opened has been received. */
	complete = false;
	failure: { readonly message: string; readonly action: string | null } | null = null;
	readonly latest = new SearchTree();
	/** Full text of nodes that arrived truncated. */
	readonly texts = new Map<number, string>();
	readonly #generation: number;
	readonly #replay = new Replay();
	readonly #decoder = new TextDecoder();
	#moment: number | null = null;

	constructor(name: SideName, source: TreeSource, generation: number) {
		this.name = name;
		this.source = source;
		this.#generation = generation;
	}

	get events(): readonly TreeEvent[] {
		return this.#replay.events;
	}

	/** Replay position, as a number of events. */
	get moment(): number {
		return this.#moment ?? this.events.length;
	}

	/** Whether the end of the log is shown and followed as the log grows. */
	get atEnd(): boolean {
		return this.#moment === null;
	}

	get shown(): SearchTree {
		return this.#moment === null ? this.latest : this.#replay.treeAt(this.#moment);
	}

	/** Last event at or before the replay position. */
	get lastEvent(): TreeEvent | null {
		return this.events[this.moment - 1] ?? null;
	}

	/** Adds events. Returns false if they do not follow the known ones, in which case a new snapshot must be requested. */
	receive({ generation, from, lines, complete }: EventsMessage): boolean {
		if (generation !== this.#generation) return generation < this.#generation;
		const events = eventsOfLines(this.#decoder.decode(lines));
		if (from > this.events.length) return false;
		for (const event of events.slice(this.events.length - from)) {
			this.#replay.append(event);
			this.latest.apply(event);
		}
		this.complete ||= complete;
		return true;
	}

	/** Shows the tree after a number of events. null follows the end as the log grows. */
	goTo(moment: number | null): void {
		this.#moment = moment === null ? null : Math.max(0, Math.min(this.events.length, Math.round(moment)));
	}

	node(id: number | null): TreeNode | undefined {
		return id === null ? undefined : this.shown.node(id);
	}

	/** Returns all of a node's text received so far. */
	textOf(node: TreeNode): string {
		return this.texts.get(node.id) ?? node.text;
	}

	/** Returns whether the extension truncated the node's text and the rest has not arrived. */
	isCut(node: TreeNode): boolean {
		const event = this.events[node.born] as (TreeEvent & { readonly cut?: unknown }) | undefined;
		return event?.cut === true && !this.texts.has(node.id);
	}
}
