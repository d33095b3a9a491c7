import type { Backup, NodeRole, StopReason, TreeEvent, TreeEventOf } from '../../protocol/treeLog.ts';

/** A node as built by the events so far. Fields that only the tree may change are readonly elsewhere. */
export interface TreeNode {
	readonly id: number;
	readonly parents: readonly number[];
	readonly children: readonly number[];
	/** Number of steps from its root along first parents. */
	readonly depth: number;
	readonly text: string;
	readonly role: NodeRole;
	readonly label: string | null;
	readonly final: boolean;
	readonly answer: string | null;
	readonly finish: string | null;
	readonly by: 'policy' | 'person';
	/** Its text does not continue that of its first parent. */
	readonly fresh: boolean;
	readonly logprob: number | null;
	readonly prior: number | null;
	readonly tokens: number | null;
	readonly entropy: number | null;
	/** Last value by scorer. */
	readonly scores: ReadonlyMap<string, number | null>;
	/** Last value by any scorer; null if there is none. */
	readonly score: number | null;
	/** Number of simulations through the node (N). */
	readonly visits: number;
	/** Sum and maximum of the values backed up; Q follows from them (see {@link SearchTree.q}). */
	readonly total: number;
	readonly greatest: number;
	readonly pruned: string | null;
	readonly mergedInto: number | null;
	/** Index of the event that created it. */
	readonly born: number;
	/** Seconds since the start of the search. */
	readonly bornAt: number;
}

type Mutable = { -readonly [K in keyof TreeNode]: TreeNode[K] } & {
	children: number[];
};

/** Roles whose text stands alone, regardless of the parent. */
const freshRoles: ReadonlySet<NodeRole> = new Set(['draft', 'critique', 'revision', 'aggregate', 'subproblem']);

const noScores: ReadonlyMap<string, number | null> = new Map();
/** What an event changed, so that it can be reversed. */
export interface Reversal {
	applied: boolean;
	/** The node it created. */
	node: TreeNode | null;
	readonly was: unknown;
}

/** Shared by all nodes without children; never modified. */
const noChildren: number[] = [];

/** Events about a node logged by agents. */
export type AgentNote = TreeEventOf<'critique'> | TreeEventOf<'tool'> | TreeEventOf<'reference'>;

export interface SearchOutcome {
	readonly best: readonly number[] | null;
	readonly answer: string | null;
	readonly value: number | null;
	readonly stop: StopReason;
}

/**
 * The tree of a search, built from its events and nothing else. Running, replaying and drawing a search all use this
 * class, so that they cannot differ. Invalid events (a node whose number is not the next, an unknown node) are skipped
 * and counted.
 */
export class SearchTree {
	readonly #nodes: Mutable[] = [];
	readonly #roots: number[] = [];
	#problems = 0;
	#events = 0;
	#skipped = 0;
	#backup: Backup = 'mean';
	/** Used by agents only; other searches have none. */
	readonly #notes = new Map<number, AgentNote[]>();
	#outcome: SearchOutcome | null = null;
	#start: TreeEventOf<'start'> | null = null;

	get nodes(): readonly TreeNode[] {
		return this.#nodes;
	}

	/** Number of nodes without problem nodes: those generated or written, as counted by budgets and totals. */
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

	/** null while the search has not ended, or was continued. */
	get outcome(): SearchOutcome | null {
		return this.#outcome;
	}

	node(id: number): TreeNode | undefined {
		return this.#nodes[id];
	}

	/** The critique of a node, its tool results and its references, in log order. */
	notesOf(id: number): readonly AgentNote[] {
		return this.#notes.get(id) ?? [];
	}

	/** Value of a node by the backup rule of the search; null before its first visit. */
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

	/** Path from the root to a node along first parents; empty for an unknown node. */
	pathTo(id: number): number[] {
		let node = this.#nodes[id];
		if (node === undefined) return [];
		// Parents precede their children, so there are no cycles, and the depth gives the length.
		const path = new Array<number>(node.depth + 1);
		for (let i = node.depth; node !== undefined; i--) {
			path[i] = node.id;
			node = this.#nodes[node.parents[0] as number];
		}
		return path;
	}

	/** The nodes whose texts concatenate to the completion up to a node; none for the problem. */
	partsOf(id: number): number[] {
		const path = this.pathTo(id);
		const from = path.findLastIndex((at) => this.#nodes[at]?.fresh);
		return (this.#nodes[path[from] as number]?.parents.length ?? 0) > 0 ? path.slice(from) : path.slice(from + 1);
	}

	/** The completion up to a node. */
	textOf(id: number): string {
		return this.partsOf(id)
			.map((part) => (this.#nodes[part] as Mutable).text)
			.join('');
	}

	/** Returns whether the event was valid. */
	apply(event: TreeEvent): boolean {
		const number = this.#events++;
		const applied = this.#apply(event, number);
		if (!applied) this.#skipped++;
		return applied;
	}

	/**
	 * Applies an event reversibly: pass the result to `takeBack`. Applied again with that reversal, it creates nothing
	 * new.
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

	/** Reverses the last event. */
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
				// From the end, in case a node occurs twice.
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

	/** The state that an event is going to change. */
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
				// A new map each time, because copies share them.
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
