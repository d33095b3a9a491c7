import { Replay } from '../../src/core/search/replay.ts';
import { SearchTree, type TreeNode } from '../../src/core/search/searchTree.ts';
import type { TreeEvent } from '../../src/protocol/treeLog.ts';
import type { TreeSource, TreeViewEvent } from '../../src/protocol/treeMessages.ts';
import { eventsOfLines } from './eventLines.ts';

export type SideName = 'main' | 'other';
type EventsMessage = Extract<TreeViewEvent, { type: 'events' }>;

/** One tree with its events: all of them make `latest`, those up to the chosen moment make `shown`. */
export class TreeSide {
	readonly name: SideName;
	source: TreeSource;
	/** Whether all that the log had when it was opened is here. */
	complete = false;
	failure: { readonly message: string; readonly action: string | null } | null = null;
	readonly latest = new SearchTree();
	/** Whole texts of nodes that came cut. */
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

	/** Number of events after which the tree is shown. */
	get moment(): number {
		return this.#moment ?? this.events.length;
	}

	/** Whether the end of the log is shown, also as it grows. */
	get atEnd(): boolean {
		return this.#moment === null;
	}

	get shown(): SearchTree {
		return this.#moment === null ? this.latest : this.#replay.treeAt(this.#moment);
	}

	/** What happened last before the moment that is shown. */
	get lastEvent(): TreeEvent | null {
		return this.events[this.moment - 1] ?? null;
	}

	/** Takes events in. Returns false for what is not the continuation of what is here, which must be asked for anew. */
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

	/** Shows the tree after so many events; null: at the end, also as the log grows. */
	goTo(moment: number | null): void {
		this.#moment = moment === null ? null : Math.max(0, Math.min(this.events.length, Math.round(moment)));
	}

	node(id: number | null): TreeNode | undefined {
		return id === null ? undefined : this.shown.node(id);
	}

	/** All of a node's text that is here. */
	textOf(node: TreeNode): string {
		return this.texts.get(node.id) ?? node.text;
	}

	/** Whether the extension cut the node's text and has not sent the rest. */
	isCut(node: TreeNode): boolean {
		const event = this.events[node.born] as (TreeEvent & { readonly cut?: unknown }) | undefined;
		return event?.cut === true && !this.texts.has(node.id);
	}
}
