import { Disposable } from '../../src/base/disposable.ts';
import { Emitter } from '../../src/base/event.ts';
import type { TreeNode } from '../../src/core/search/treeNode.ts';
import type { TreeViewCommand, TreeViewEvent } from '../../src/protocol/treeMessages.ts';
import { findNodes, nextHit } from './nodeSearch.ts';
import type { SavedState } from './savedState.ts';
import { type SideName, TreeSide } from './treeSide.ts';
import { firstOptions, type ViewOptions } from './viewOptions.ts';

/**
 * - `source`: log information other than events; `events`: events were added; `moment`: the replay position has
 *   changed
 * - `selection`, `hover`; `options`: display options; `folds`: expanded and collapsed nodes
 * - `search`: query or matches; `sides`: a tree was added, removed or replaced; `text`: the full text of a node has
 *   arrived
 */
export type Change =
	| 'source'
	| 'events'
	| 'moment'
	| 'selection'
	| 'options'
	| 'folds'
	| 'search'
	| 'sides'
	| 'text'
	| 'tab';

export interface Selection {
	readonly side: SideName;
	readonly id: number;
}

/** Page state: the tree, the tree it is compared with, and the view settings of both. */
export class TreeModel extends Disposable {
	readonly #post: (command: TreeViewCommand) => void;
	readonly #changed = this.register(new Emitter<ReadonlySet<Change>>());
	readonly onChange = this.#changed.event;
	readonly #revealed = this.register(new Emitter<Selection>());
	/** Fires when a node should be brought into view. */
	readonly onReveal = this.#revealed.event;
	#saved: SavedState | undefined;
	#wanted: string | null = null;
	main: TreeSide | null = null;
	other: TreeSide | null = null;
	options: ViewOptions = firstOptions;
	selection: Selection | null = null;
	/** Nodes expanded (true) or collapsed (false) by the user, for each side. */
	readonly folds: Readonly<Record<SideName, Map<number, boolean>>> = { main: new Map(), other: new Map() };
	words = '';
	hits: readonly number[] = [];
	tab = 'search';
	failure: { readonly message: string; readonly action: string | null } | null = null;

	constructor(post: (command: TreeViewCommand) => void, saved: SavedState | undefined) {
		super();
		this.#post = post;
		this.#saved = saved;
	}

	post(command: TreeViewCommand): void {
		this.#post(command);
	}

	side(name: SideName): TreeSide | null {
		return name === 'main' ? this.main : this.other;
	}

	/** The selected side. Defaults to the main tree. */
	get current(): TreeSide | null {
		return this.selection?.side === 'other' ? (this.other ?? this.main) : this.main;
	}

	get selected(): TreeNode | undefined {
		return this.selection === null ? undefined : this.current?.node(this.selection.id);
	}

	receive(event: TreeViewEvent): void {
		switch (event.type) {
			case 'open':
				this.#open(event);
				break;
			case 'events': {
				const side = this.side(event.side);
				if (side === null) return;
				if (!side.receive(event)) {
					// Request this only once. Until the response arrives, all further events follow the same gap.
					if (this.#wanted === null) this.post({ type: 'ready' });
					this.#wanted = event.side;
					return;
				}
				this.#restoreSelection();
				this.#search();
				this.#tell('events');
				break;
			}
			case 'source': {
				const side = this.side(event.side);
				if (side === null) return;
				side.source = event.source;
				side.failure = null;
				this.#tell('source');
				break;
			}
			case 'failed': {
				const failure = { message: event.message, action: event.action };
				const side = this.side(event.side);
				if (side !== null) side.failure = failure;
				else if (event.side === 'main') this.failure = failure;
				this.#tell('source');
				break;
			}
			case 'text':
				this.side(event.side)?.texts.set(event.id, event.text);
				this.#tell('text');
				break;
			case 'reveal':
				this.select({ side: 'main', id: event.node }, true);
				break;
			case 'closeOther':
				this.#closeOther();
				break;
		}
	}

	select(selection: Selection | null, reveal = false): void {
		if (selection !== null && this.side(selection.side)?.node(selection.id) === undefined) return;
		const changed = selection?.id !== this.selection?.id || selection?.side !== this.selection?.side;
		this.selection = selection;
		if (changed) {
			const side = this.current;
			const node = this.selected;
			if (side && node && selection && side.isCut(node)) {
				this.post({ type: 'wantText', side: selection.side, id: node.id });
			}
			this.#tell('selection');
		}
		if (reveal && selection !== null) this.#revealed.fire(selection);
	}

	/** Expands or collapses a node. */
	fold(side: SideName, id: number, open: boolean): void {
		this.folds[side].set(id, open);
		this.#tell('folds');
	}

	setOptions(options: Partial<ViewOptions>): void {
		this.options = { ...this.options, ...options };
		// A new depth applies to all nodes.
		if (options.detail !== undefined) {
			this.folds.main.clear();
			this.folds.other.clear();
		}
		this.#tell('options');
	}

	/** Shows the tree after a number of events. null follows the end as the log grows. */
	goTo(moment: number | null): void {
		const side = this.current;
		if (side === null) return;
		side.goTo(moment);
		this.#tell('moment');
	}

	setWords(words: string): void {
		if (words === this.words) return;
		this.words = words;
		this.#search();
		this.#tell('search');
	}

	/** Selects the next or previous match and brings it into view. */
	moveHit(by: 1 | -1): void {
		const side = this.current;
		if (side === null) return;
		const id = nextHit(this.hits, this.selection?.id ?? null, by);
		if (id !== -1) this.select({ side: side.name, id }, true);
	}

	setTab(tab: string): void {
		if (tab === this.tab) return;
		this.tab = tab;
		this.#tell('tab');
	}

	saved(): SavedState | null {
		const { main, other, options, selection, tab } = this;
		if (main === null || main.source.path === '') return null;
		return {
			path: main.source.path,
			tree: main.source.chosen,
			other: other?.source.path ?? null,
			options,
			selected: selection?.side === 'main' ? selection.id : null,
			chosen: [...this.folds.main].slice(-500),
			tab,
		};
	}

	#open({ side: name, source, generation }: Extract<TreeViewEvent, { type: 'open' }>): void {
		this.#wanted = null;
		const side = new TreeSide(name, source, generation);
		const before = this.side(name)?.source;
		const same = before !== undefined && before.path === source.path && before.chosen === source.chosen;
		if (name === 'main') {
			this.main = side;
			this.failure = null;
			this.#restore(side);
		} else {
			this.other = side;
			if (before === undefined) this.tab = 'compare';
		}
		if (!same && before !== undefined) {
			this.folds[name].clear();
			if (this.selection?.side === name) this.selection = null;
		}
		this.#search();
		this.#tell('sides', 'source', 'events', 'selection', 'options', 'tab');
	}

	#closeOther(): void {
		if (this.other === null) return;
		this.other = null;
		this.folds.other.clear();
		if (this.selection?.side === 'other') this.selection = null;
		this.#search();
		this.#tell('sides', 'source', 'events', 'selection');
	}

	#restore({ source }: TreeSide): void {
		const saved = this.#saved;
		if (saved === undefined) return;
		this.options = saved.options;
		if (saved.path !== source.path || saved.tree !== source.chosen) {
			this.#saved = undefined;
			return;
		}
		this.tab = saved.tab;
		for (const [id, open] of saved.chosen) this.folds.main.set(id, open);
	}

	/** Restores the node selected before a reload, once its event has been loaded. */
	#restoreSelection(): void {
		const id = this.#saved?.selected;
		if (id === undefined) return;
		if (id === null || this.selection !== null) this.#saved = undefined;
		else if (this.main?.node(id) !== undefined) {
			this.#saved = undefined;
			this.select({ side: 'main', id }, true);
		}
	}

	#search(): void {
		const side = this.current;
		this.hits = side === null ? [] : findNodes(side.latest.nodes, this.words);
	}

	#tell(...changes: Change[]): void {
		this.#changed.fire(new Set(changes));
	}
}
