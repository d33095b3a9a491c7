import type { Search } from './search.ts';
import type { TreeNode } from './searchTree.ts';
import { isOpen } from './siblings.ts';

/** What a child looks like to a selection rule, simulations that are under way included. */
export interface ChildStatistics {
	/** N(s, a). */
	readonly visits: number;
	/** Q(s, a); of a child without visits the value of a first play. */
	readonly value: number;
	/** P(s, a). */
	readonly prior: number;
	/** N(s), at least 1. */
	readonly parentVisits: number;
}

export type SelectionRule = (child: ChildStatistics) => number;

/** Value by which UCT takes what was never visited before all else. */
export const unvisited = 1e9;

/** Q + c sqrt(ln N(s) / N(s, a)) (Kocsis and Szepesvári 2006). */
export const uct =
	(c: number): SelectionRule =>
	({ visits, value, parentVisits }) =>
		visits === 0 ? unvisited : value + c * Math.sqrt(Math.log(parentVisits) / visits);

/** Q + P sqrt(N(s)) / (1 + N(s, a)) (c1 + ln((N(s) + c2 + 1) / c2)) (Silver et al. 2017; Schrittwieser et al. 2020). */
export const puct =
	(c1: number, c2: number): SelectionRule =>
	({ visits, value, prior, parentVisits }) =>
		value + ((prior * Math.sqrt(parentVisits)) / (1 + visits)) * (c1 + Math.log((parentVisits + c2 + 1) / c2));

export interface TreePolicySettings {
	readonly rule: SelectionRule;
	/** Q of what was never visited. */
	readonly firstPlay: number;
	/** Visits of value 0 that a simulation under way counts as. */
	readonly virtualLoss: number;
	/** Added to the priors of the root's children; null: nothing. */
	readonly noise: { readonly share: number; readonly of: (children: number) => readonly number[] } | null;
}

/** Which child a simulation goes to (the tree policy of MCTS), with the simulations that are under way as virtual losses. */
export class TreePolicy {
	readonly #search: Search;
	readonly #settings: TreePolicySettings;
	/** By node: simulations that are on their way through it. */
	readonly #underWay: (number | undefined)[] = [];
	#noise: readonly number[] | null = null;
	/** Filled for each child in turn, so that nothing is made for each. */
	readonly #statistics = { visits: 0, value: 0, prior: 0, parentVisits: 0 };

	constructor(search: Search, settings: TreePolicySettings) {
		this.#search = search;
		this.#settings = settings;
	}

	enter(node: number): void {
		this.#underWay[node] = (this.#underWay[node] ?? 0) + 1;
	}

	leave(path: readonly number[]): void {
		for (const node of path) this.#underWay[node] = (this.#underWay[node] as number) - 1;
	}

	/** Simulations that went through a node or are on their way there, but for one's own, which has entered it. */
	visits(node: TreeNode): number {
		return node.visits + (this.#underWay[node.id] ?? 1) - 1;
	}

	/** The open child of greatest value by the rule, the first of several; null: there is none. */
	best(parent: TreeNode): TreeNode | null {
		const { tree } = this.#search;
		let best: TreeNode | null = null;
		let greatest = Number.NEGATIVE_INFINITY;
		const parentVisits = Math.max(1, this.visits(parent));
		for (let i = 0; i < parent.children.length; i++) {
			const child = tree.nodes[parent.children[i] as number] as TreeNode;
			if (!isOpen(child)) continue;
			const value = this.#value(parent, child, i, parentVisits);
			if (value > greatest) [best, greatest] = [child, value];
		}
		return best;
	}

	/** What a decision was between. */
	candidates(parent: TreeNode): { readonly id: number; readonly value: number }[] {
		const { tree } = this.#search;
		const parentVisits = Math.max(1, this.visits(parent));
		const candidates: { readonly id: number; readonly value: number }[] = [];
		for (let i = 0; i < parent.children.length; i++) {
			const child = tree.nodes[parent.children[i] as number] as TreeNode;
			if (isOpen(child)) candidates.push({ id: child.id, value: this.#value(parent, child, i, parentVisits) });
		}
		return candidates;
	}

	#value(parent: TreeNode, child: TreeNode, place: number, parentVisits: number): number {
		const { rule, firstPlay, virtualLoss, noise } = this.#settings;
		const lost = (this.#underWay[child.id] ?? 0) * virtualLoss;
		const visits = child.visits + lost;
		const statistics = this.#statistics;
		statistics.visits = visits;
		statistics.parentVisits = parentVisits;
		if (visits === 0) statistics.value = firstPlay;
		else {
			const sum = this.#search.tree.backup === 'max' ? child.greatest * child.visits : child.total;
			statistics.value = child.visits === 0 ? 0 : sum / visits;
		}
		const prior = child.prior ?? 1 / parent.children.length;
		statistics.prior = prior;
		if (noise !== null && parent.id === this.#search.root) {
			if (this.#noise?.length !== parent.children.length) this.#noise = noise.of(parent.children.length);
			statistics.prior = (1 - noise.share) * prior + noise.share * (this.#noise[place] as number);
		}
		return rule(statistics);
	}
}
