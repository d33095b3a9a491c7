import type { Backup, TreeEvent, TreeEventOf } from '../../protocol/treeLog.ts';
import {
	type AgentNote,
	freshRoles,
	type Mutable,
	noChildren,
	noScores,
	type SearchOutcome,
	type TreeNode,
} from './treeNode.ts';

/** Undo information for an event. */
export interface Reversal {
	applied: boolean;
	/** Node that the event created. */
	node: TreeNode | null;
	readonly was: unknown;
}

/**
 * Search tree built entirely from events. Running, replaying and rendering a search all use this class, so their
 * results cannot differ. Invalid events (a node with an unexpected number, an unknown node) are skipped and counted.
 */
export class SearchTree {
	readonly #nodes: Mutable[] = [];
	readonly #roots: number[] = [];
	#problems = 0;
	#events = 0;
	#skipped = 0;
	#backup: Backup = 'mean';
	/** Used only by agents; empty in other searches. */
	readonly #notes = new Map<number, AgentNote[]>();
	#outcome: SearchOutcome | null = null;
	#start: TreeEventOf<'start'> | null = null;

	get nodes(): readonly TreeNode[] {
		return this.#nodes;
	}

	/** Number of generated or written nodes, as counted in budgets and totals. Excludes problem nodes. */
	get nodeCount(): number {
		return this.#nodes.length - this.#problems;
	}

	get roots(): readonly number[] {
		return this.#roots;
	}

	/** Number of events applied or skipped. */
	get events(): number {
		return this.#events;
	}

	get skipped(): number {
		return this.#skipped;
	}

	get start(): TreeEventOf<'start'> | null {
		return this.#start;
	}

	get backup(): Backup {
		return this.#backup;
	}

	/** null if the search has not ended, or was continued. */
	get outcome(): SearchOutcome | null {
		return this.#outcome;
	}

	node(id: number): TreeNode | undefined {
		return this.#nodes[id];
	}

	/** Returns a node's critique, tool results and references, in log order. */
	notesOf(id: number): readonly AgentNote[] {
		return this.#notes.get(id) ?? [];
	}

	/** Returns the value of a node under the search's backup rule; null before its first visit. */
	q(id: number): number | null {
		const node = this.#nodes[id];
		if (node === undefined || node.visits === 0) return null;
		return this.#backup === 'max' ? node.greatest : node.total / node.visits;
	}

	/** Returns an independent copy. */
	copy(): SearchTree {
		const tree = new SearchTree();
		for (const node of this.#nodes) {
			tree.#nodes.push({ ...node, children: node.children.length === 0 ? noChildren : node.children.slice() });
		}
		for (const [id, notes] of this.#notes) tree.#notes.set(id, [...notes]);
		tree.#roots.push(...this.#roots);
		tree.#problems = this.#problems;
		tree.#events = this.#events;
		tree.#skipped = this.#skipped;
		tree.#backup = this.#backup;
		tree.#outcome = this.#outcome;
		tree.#start = this.#start;
		return tree;
	}

	/** Returns the path from the root to a node along first parents; empty for an unknown node. */
	pathTo(id: number): number[] {
		let node = this.#nodes[id];
		if (node === undefined) return [];
		// Parents precede their children, so there are no cycles and the depth determines the length.
		const path = new Array<number>(node.depth + 1);
		for (let i = node.depth; node !== undefined; i--) {
			path[i] = node.id;
			node = this.#nodes[node.parents[0] as number];
		}
		return path;
	}

	/** Returns the nodes whose text forms the completion up to a node; empty for the problem. */
	partsOf(id: number): number[] {
		const path = this.pathTo(id);
		const from = path.findLastIndex((at) => this.#nodes[at]?.fresh);
		return (this.#nodes[path[from] as number]?.parents.length ?? 0) > 0 ? path.slice(from) : path.slice(from + 1);
	}

	/** Returns the completion up to a node. */
	textOf(id: number): string {
		return this.partsOf(id)
			.map((part) => (this.#nodes[part] as Mutable).text)
			.join('');
	}

	/** Applies an event; returns false if it is invalid. */
	apply(event: TreeEvent): boolean {
		const number = this.#events++;
		const applied = this.#apply(event, number);
		if (!applied) this.#skipped++;
		return applied;
	}

	/**
	 * Applies an event and returns the information that `takeBack` needs to undo it. Reapplying the event with that
	 * information creates no new objects.
	 */
	advance(event: TreeEvent, before: Reversal | null): Reversal {
		if (before?.node != null) {
			this.#link(before.node as Mutable);
			this.#events++;
			return before;
		}
		const reversal = before ?? this.#reversalOf(event);
		reversal.applied = this.apply(event);
		if (reversal.applied && event.t === 'node') reversal.node = this.#nodes[event.id] as Mutable;
		return reversal;
	}

	/** Undoes the last event. */
	takeBack(event: TreeEvent, { applied, was }: Reversal): void {
		this.#events--;
		if (!applied) {
			this.#skipped--;
			return;
		}
		switch (event.t) {
			case 'start':
				this.#start = null;
				this.#backup = 'mean';
				break;
			case 'node':
				this.#unlink(this.#nodes.pop() as Mutable);
				break;
			case 'score': {
				const node = this.#nodes[event.id] as Mutable;
				[node.scores, node.score] = was as [Mutable['scores'], number | null];
				break;
			}
			case 'visit':
				// Iterates in reverse, in case a node occurs twice.
				for (let i = event.path.length - 1; i >= 0; i--) {
					const node = this.#nodes[event.path[i] as number] as Mutable;
					node.visits -= event.times ?? 1;
					node.total = (was as number[])[2 * i] as number;
					node.greatest = (was as number[])[2 * i + 1] as number;
				}
				break;
			case 'prune':
			case 'restore':
				(this.#nodes[event.id] as Mutable).pruned = was as string | null;
				break;
			case 'merge':
				(this.#nodes[event.id] as Mutable).mergedInto = was as number | null;
				break;
			case 'resume':
				[this.#outcome, this.#backup] = was as [SearchOutcome | null, Backup];
				break;
			case 'end':
				this.#outcome = was as SearchOutcome | null;
				break;
			case 'critique':
			case 'tool':
			case 'reference':
				this.#notes.get(event.id)?.pop();
				break;
		}
	}

	#reversalOf(event: TreeEvent): Reversal {
		return { applied: false, node: null, was: this.#before(event) };
	}

	/** Returns the state that an event would overwrite. */
	#before(event: TreeEvent): unknown {
		switch (event.t) {
			case 'score': {
				const node = this.#nodes[event.id];
				return [node?.scores, node?.score];
			}
			case 'visit': {
				const was = new Array<number>(2 * event.path.length);
				for (let i = 0; i < event.path.length; i++) {
					const node = this.#nodes[event.path[i] as number];
					was[2 * i] = node?.total ?? 0;
					was[2 * i + 1] = node?.greatest ?? 0;
				}
				return was;
			}
			case 'prune':
			case 'restore':
				return this.#nodes[event.id]?.pruned;
			case 'merge':
				return this.#nodes[event.id]?.mergedInto;
			case 'resume':
				return [this.#outcome, this.#backup];
			case 'end':
				return this.#outcome;
			default:
				return null;
		}
	}

	#apply(event: TreeEvent, number: number): boolean {
		switch (event.t) {
			case 'start':
				if (this.#start !== null) return false;
				this.#start = event;
				this.#backup = event.backup;
				return true;
			case 'node':
				return this.#add(event, number);
			case 'score': {
				const node = this.#nodes[event.id];
				if (node === undefined) return false;
				// Creates a new map each time, because copies of the tree share the old one.
				node.scores = (node.scores === noScores ? new Map() : new Map(node.scores)).set(event.scorer, event.value);
				if (event.value !== null) node.score = event.value;
				return true;
			}
			case 'visit':
				return this.#visit(event.path, event.values, event.times ?? 1);
			case 'prune':
				return this.#change(event.id, (node) => {
					node.pruned = event.reason;
				});
			case 'restore':
				return this.#change(event.id, (node) => {
					node.pruned = null;
				});
			case 'merge':
				if (this.#nodes[event.into] === undefined || event.into === event.id) return false;
				return this.#change(event.id, (node) => {
					node.mergedInto = event.into;
				});
			case 'resume': {
				this.#outcome = null;
				const backup = event.params?.backup;
				if (backup === 'mean' || backup === 'max') this.#backup = backup;
				return true;
			}
			case 'end': {
				const { best, answer, value, stop } = event;
				this.#outcome = { best, answer, value, stop };
				return true;
			}
			case 'critique':
			case 'tool':
			case 'reference':
				return this.#note(event);
			default:
				return true;
		}
	}

	#note(event: AgentNote): boolean {
		if (this.#nodes[event.id] === undefined) return false;
		const notes = this.#notes.get(event.id);
		if (notes === undefined) this.#notes.set(event.id, [event]);
		else notes.push(event);
		return true;
	}

	#add(event: TreeEventOf<'node'>, born: number): boolean {
		const { id, parents, text, role, final, answer, by, at } = event;
		if (id !== this.#nodes.length || parents.some((parent) => this.#nodes[parent] === undefined)) return false;
		const first = parents[0];
		this.#link({
			id,
			parents,
			children: noChildren,
			depth: first === undefined ? 0 : (this.#nodes[first] as Mutable).depth + 1,
			text,
			role,
			label: event.label ?? null,
			final,
			answer,
			finish: event.finish ?? null,
			by,
			written: event.written ?? null,
			reward: event.reward ?? null,
			fresh: first === undefined || event.fresh === true || freshRoles.has(role),
			logprob: event.logprob ?? null,
			prior: event.prior ?? null,
			tokens: event.tokens ?? null,
			entropy: event.entropy ?? null,
			scores: noScores,
			score: null,
			visits: 0,
			total: 0,
			greatest: Number.NEGATIVE_INFINITY,
			pruned: null,
			mergedInto: null,
			born,
			bornAt: at,
		});
		return true;
	}

	#link(node: Mutable): void {
		const { id, parents } = node;
		this.#nodes.push(node);
		if (node.role === 'problem') this.#problems++;
		if (parents.length === 0) this.#roots.push(id);
		for (const parent of parents) {
			const above = this.#nodes[parent] as Mutable;
			if (above.children === noChildren) above.children = [id];
			else above.children.push(id);
		}
	}

	#unlink({ parents, role }: Mutable): void {
		if (role === 'problem') this.#problems--;
		if (parents.length === 0) this.#roots.pop();
		for (const parent of parents) (this.#nodes[parent] as Mutable).children.pop();
	}

	#visit(path: readonly number[], values: readonly number[], times: number): boolean {
		if (path.length !== values.length) return false;
		for (let i = 0; i < path.length; i++) if (this.#nodes[path[i] as number] === undefined) return false;
		for (let i = 0; i < path.length; i++) {
			const node = this.#nodes[path[i] as number] as Mutable;
			const value = values[i] as number;
			node.visits += times;
			node.total += value * times;
			if (value > node.greatest) node.greatest = value;
		}
		return true;
	}

	#change(id: number, how: (node: Mutable) => void): boolean {
		const node = this.#nodes[id];
		if (node === undefined) return false;
		how(node);
		return true;
	}
}
