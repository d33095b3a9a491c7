import { mix32 } from '../../base/random.ts';
import type { SearchTree } from './searchTree.ts';
import type { TreeNode } from './treeNode.ts';

/** Completion up to a node. */
export interface NodePrefix {
	readonly text: string;
	readonly tokens: number;
	/** Log-probability in nats; null if any part is unknown. */
	readonly logprob: number | null;
}

export const noPrefix: NodePrefix = { text: '', tokens: 0, logprob: 0 };

/** Caches node prefixes, so that each is built only once. */
export class NodePrefixes {
	readonly #tree: SearchTree;
	readonly #seed: number;
	readonly #prefixes: (NodePrefix | undefined)[] = [];
	readonly #places: (number | undefined)[] = [];

	constructor(tree: SearchTree, seed: number) {
		this.#tree = tree;
		this.#seed = seed;
	}

	of(id: number): NodePrefix {
		const known = this.#prefixes[id];
		if (known !== undefined) return known;
		const node = this.#node(id);
		let made = noPrefix;
		if (node.parents.length > 0) {
			const before = node.fresh ? noPrefix : this.of(node.parents[0] as number);
			made = {
				text: before.text === '' ? node.text : before.text + node.text,
				tokens: before.tokens + (node.tokens ?? 0),
				logprob: before.logprob === null || node.logprob === null ? null : before.logprob + node.logprob,
			};
		}
		this.#prefixes[id] = made;
		return made;
	}

	/**
	 * Returns a number that identifies a node by its position in the tree: its index among its siblings, and that of each
	 * ancestor. The number does not depend on the order in which other parts of the tree grow, so seeds derived from it
	 * are the same in every run of a search.
	 */
	place(id: number): number {
		const known = this.#places[id];
		if (known !== undefined) return known;
		const first = this.#node(id).parents[0];
		const made =
			first === undefined
				? mix32(this.#seed + this.#tree.roots.indexOf(id))
				: mix32(this.place(first) + Math.imul(placeAmong(this.#node(first).children, id) + 1, 0x9e3779b1));
		this.#places[id] = made;
		return made;
	}

	#node(id: number): TreeNode {
		const node = this.#tree.node(id);
		if (node === undefined) throw new RangeError(`Node ${id} does not exist.`);
		return node;
	}
}

/** Returns a node's position among its siblings. Searches from the end, because the last child is usually requested. */
function placeAmong(children: readonly number[], id: number): number {
	const last = children.length - 1;
	return children[last] === id ? last : children.indexOf(id);
}
