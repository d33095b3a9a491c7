import type { Search } from '../search.ts';
import { isOpen } from '../siblings.ts';
import type { TreeNode } from '../treeNode.ts';
import type { SelectionRule } from './puct.ts';

export interface TreePolicySettings {
	readonly rule: SelectionRule;
	/** Q of an unvisited child. */
	readonly firstPlay: number;
	/** Number of zero-value visits counted for each simulation in progress. */
	readonly virtualLoss: number;
	/** Noise added to the priors of the root's children; null for none. */
	readonly noise: { readonly share: number; readonly of: (children: number) => readonly number[] } | null;
}

interface Places {
	readonly prior: number;
	readonly share: number;
	readonly noise: readonly number[] | null;
}

/**
 * Selects the child to which a simulation descends (the MCTS tree policy), counting simulations in progress as virtual
 * losses.
 */
export class TreePolicy {
	readonly #search: Search;
	readonly #settings: TreePolicySettings;
	/** Number of simulations in progress through each node. */
	readonly #underWay: number[] = [];
	#noise: readonly number[] | null = null;
	/** Selection rule used for each child. */
	readonly #rule: SelectionRule;
	readonly #firstPlay: number;
	readonly #virtualLoss: number;
	readonly #max: boolean;

	constructor(search: Search, settings: TreePolicySettings) {
		this.#search = search;
		this.#settings = settings;
		this.#rule = settings.rule;
		this.#firstPlay = settings.firstPlay;
		this.#virtualLoss = settings.virtualLoss;
		this.#max = search.tree.backup === 'max';
	}

	enter(node: number): void {
		const counts = this.#underWay;
		while (counts.length <= node) counts.push(0);
		counts[node] = (counts[node] as number) + 1;
	}

	leave(path: readonly number[]): void {
		for (const node of path) this.#underWay[node] = (this.#underWay[node] as number) - 1;
	}

	/**
	 * Returns the number of simulations through a node, including those in progress. Excludes the current one, which has
	 * already entered the node.
	 */
	visits(node: TreeNode): number {
		return node.visits + this.#on(node.id) - 1;
	}

	/** Returns the open child with the highest value under the rule (the first one if tied); null if there is none. */
	best(parent: TreeNode): TreeNode | null {
		const { tree } = this.#search;
		const { nodes } = tree;
		const { children } = parent;
		if (children.length === 0) return null;
		const shared = this.#shared(parent);
		const places = this.#places(parent);
		let best: TreeNode | null = null;
		let greatest = Number.NEGATIVE_INFINITY;
		for (let i = 0; i < children.length; i++) {
			const child = nodes[children[i] as number] as TreeNode;
			if (!isOpen(child, tree)) continue;
			const value = this.#value(shared, child, places, i);
			if (value > greatest) {
				best = child;
				greatest = value;
			}
		}
		return best;
	}

	/** Returns the candidates for selection with their values. */
	candidates(parent: TreeNode): { readonly id: number; readonly value: number }[] {
		const { tree } = this.#search;
		const { nodes } = tree;
		const shared = this.#shared(parent);
		const places = this.#places(parent);
		const candidates: { readonly id: number; readonly value: number }[] = [];
		for (let i = 0; i < parent.children.length; i++) {
			const child = nodes[parent.children[i] as number] as TreeNode;
			if (isOpen(child, tree)) candidates.push({ id: child.id, value: this.#value(shared, child, places, i) });
		}
		return candidates;
	}

	#on(node: number): number {
		return node < this.#underWay.length ? (this.#underWay[node] as number) : 0;
	}

	#shared(parent: TreeNode): number {
		return this.#rule.shared(Math.max(1, this.visits(parent)));
	}

	/** Returns the default prior shared by siblings, and the noise for each of them, if any. */
	#places(parent: TreeNode): Places {
		const { noise } = this.#settings;
		const many = parent.children.length;
		if (noise === null || parent.id !== this.#search.root) return { prior: 1 / many, share: 0, noise: null };
		if (this.#noise?.length !== many) this.#noise = noise.of(many);
		return { prior: 1 / many, share: noise.share, noise: this.#noise };
	}

	#value(shared: number, child: TreeNode, { prior: even, share, noise }: Places, place: number): number {
		const on = this.#on(child.id) * this.#virtualLoss;
		const visits = child.visits + on;
		let q = this.#firstPlay;
		if (child.visits > 0) q = (this.#max ? child.greatest * child.visits : child.total) / visits;
		else if (on > 0) q = 0;
		let prior = child.prior ?? even;
		if (noise !== null) prior = (1 - share) * prior + share * (noise[place] as number);
		return this.#rule.value(shared, visits, q, prior);
	}
}
