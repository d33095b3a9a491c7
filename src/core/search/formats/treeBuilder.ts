import { formatCounted } from '../../../base/format.ts';
import type { NodeRole, TreeEvent } from '../../../protocol/treeLog.ts';
import { treeLogFormat } from '../../../protocol/treeLog.ts';
import type { TreeStructure } from '../strategy.ts';
import type { ReadTree } from './treeFormat.ts';

export interface TreeHead {
	/** Format name. */
	readonly format: string;
	/** Name of the tree within its file. */
	readonly name: string;
	readonly strategy: string;
	readonly prompt: string;
	readonly answer?: string | null;
	readonly params?: Readonly<Record<string, unknown>>;
	readonly structure?: TreeStructure;
	/** Name of the value that determines the best node. */
	readonly measure: string;
}

export interface ForeignNode {
	readonly parents: readonly number[];
	readonly text: string;
	readonly role?: NodeRole;
	readonly final?: boolean;
	readonly answer?: string | null;
	readonly label?: string;
	readonly prior?: number | null;
	readonly data?: Readonly<Record<string, unknown>>;
}

const maxFaults = 50;

/**
 * Builds tree events from another program's log. Parents must be added before their children. The best node is the one
 * with the highest value passed to `value`; ties go to the deepest node, then the first.
 */
export class TreeBuilder {
	/** Current time, in seconds or in the unit used by the format, such as snapshot numbers. */
	at = 0;
	readonly #head: TreeHead;
	readonly #events: TreeEvent[] = [];
	readonly #parents: (number | undefined)[] = [];
	readonly #depths: number[] = [];
	readonly #counts: Record<string, number> = {};
	readonly #faults: string[] = [];
	#moreFaults = 0;
	#problems = 0;
	#depth = 0;
	#best: { node: number; value: number; depth: number } | null = null;

	constructor(head: TreeHead) {
		this.#head = head;
		this.#events.push({
			t: 'start',
			at: 0,
			format: treeLogFormat,
			id: head.name,
			strategy: head.strategy,
			params: { ...head.params },
			problem: { prompt: head.prompt, answer: head.answer ?? null, row: {} },
			policy: { name: 'not recorded' },
			scorers: [],
			budget: {},
			seed: 0,
			backup: 'mean',
			structure: head.structure ?? 'tree',
			foreign: head.format,
		});
	}

	/** Number of nodes, including the problem node. */
	get nodes(): number {
		return this.#depths.length;
	}

	/** Number of nodes, excluding the problem node (see SearchTree.nodeCount). */
	get nodeCount(): number {
		return this.#depths.length - this.#problems;
	}

	node({ parents, text, role, final, answer, label, prior, data }: ForeignNode): number {
		const id = this.#depths.length;
		const first = parents[0];
		const depth = first === undefined ? 0 : (this.#depths[first] as number) + 1;
		this.#depths.push(depth);
		this.#parents.push(first);
		if (depth > this.#depth) this.#depth = depth;
		const kind = role ?? (first === undefined ? 'problem' : final ? 'answer' : 'thought');
		if (kind === 'problem') this.#problems++;
		this.#events.push({
			t: 'node',
			at: this.at,
			id,
			parents: [...parents],
			text,
			role: kind,
			final: final ?? false,
			answer: answer ?? null,
			by: 'policy',
			...(label === undefined ? {} : { label }),
			...(prior === undefined ? {} : { prior }),
			...(data === undefined || Object.keys(data).length === 0 ? {} : { data: { ...data } }),
		});
		return id;
	}

	score(id: number, scorer: string, value: number | null, note?: string): void {
		this.#events.push({ t: 'score', at: this.at, id, scorer, value, ...(note === undefined ? {} : { note }) });
	}

	/** Sets a node's N and Q, as if each visit had returned the mean. */
	visits(id: number, mean: number, times: number): void {
		this.#events.push({ t: 'visit', at: this.at, path: [id], values: [mean], times });
	}

	/** Records a value that determines the best node. */
	value(id: number, value: number): void {
		const { value: best = value, depth = -1 } = this.#best ?? {};
		const own = this.#depths[id] as number;
		if (value > best || (value === best && own > depth)) this.#best = { node: id, value, depth: own };
	}

	/** Discards earlier values before they are recorded again. */
	forgetBest(): void {
		this.#best = null;
	}

	prune(id: number, reason: string): void {
		this.#events.push({ t: 'prune', at: this.at, id, reason });
	}

	restore(id: number): void {
		this.#events.push({ t: 'restore', at: this.at, id });
	}

	select(path: readonly number[]): void {
		this.#events.push({ t: 'select', at: this.at, path: [...path] });
	}

	merge(id: number, into: number): void {
		this.#events.push({ t: 'merge', at: this.at, id, into });
	}

	count(name: string, by = 1): void {
		this.#counts[name] = (this.#counts[name] ?? 0) + by;
	}

	fault(text: string): void {
		if (this.#faults.length < maxFaults) this.#faults.push(text);
		else this.#moreFaults++;
	}

	pathTo(id: number): number[] {
		const path: number[] = [];
		for (let at: number | undefined = id; at !== undefined; at = this.#parents[at]) path.push(at);
		return path.reverse();
	}

	/**
	 * @param end recorded information about the end of the search; `result` is the result node, if it differs from the
	 * best node
	 */
	done(
		end: {
			readonly result?: number;
			readonly answer?: string | null;
			readonly tokens?: number;
			readonly promptTokens?: number | null;
		} = {},
	): ReadTree {
		const best = this.#best === null ? null : { path: this.pathTo(this.#best.node), value: this.#best.value };
		this.#events.push({
			t: 'end',
			at: this.at,
			best: end.result === undefined ? (best?.path ?? null) : this.pathTo(end.result),
			answer: end.answer ?? null,
			value: end.result === undefined || end.result === this.#best?.node ? (best?.value ?? null) : null,
			stop: 'complete',
			tokens: end.tokens ?? 0,
			correct: null,
			promptTokens: end.promptTokens ?? null,
			simulations: 0,
			cost: null,
			seconds: this.at,
		});
		return {
			name: this.#head.name,
			events: this.#events,
			facts: { nodes: this.nodeCount, depth: this.#depth, best, measure: this.#head.measure, counts: this.#counts },
			faults:
				this.#moreFaults === 0
					? this.#faults
					: [...this.#faults, `${formatCounted(this.#moreFaults, 'more error')} of this kind.`],
		};
	}
}
