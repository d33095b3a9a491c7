export interface GraphEdge {
	readonly source: string;
	readonly target: string;
}

export interface OrderedNode {
	readonly key: string;
	/** All of them before it in the order. */
	readonly parents: readonly string[];
}

/**
 * Nodes of any graph so that parents come before their children, else in the order that they have; an edge that would close
 * a cycle is left out (`cut`), so is one from a node to itself (`loops`), and of equal ones all but the first.
 * @param incoming edges by their target; sources that are no key are passed over
 */
export function inTreeOrder(
	keys: readonly string[],
	incoming: ReadonlyMap<string, readonly GraphEdge[]>,
): { readonly order: readonly OrderedNode[]; readonly cut: number; readonly loops: number } {
	const state = new Map<string, 'open' | 'done'>();
	const known = new Set(keys);
	const order: OrderedNode[] = [];
	let cut = 0;
	let loops = 0;
	// Depth first along parents, on a stack of our own: a file's chains can be as long as it likes.
	for (const start of keys) {
		if (state.has(start)) continue;
		const stack: { readonly key: string; readonly parents: string[]; next: number }[] = [];
		const enter = (key: string) => {
			state.set(key, 'open');
			stack.push({ key, parents: [], next: 0 });
		};
		enter(start);
		for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
			const edge: GraphEdge | undefined = incoming.get(top.key)?.[top.next];
			if (edge === undefined) {
				state.set(top.key, 'done');
				order.push({ key: top.key, parents: [...new Set(top.parents)] });
				stack.pop();
			} else if (!known.has(edge.source)) {
				top.next++;
			} else if (state.get(edge.source) === undefined) {
				enter(edge.source);
			} else {
				if (state.get(edge.source) === 'done') top.parents.push(edge.source);
				else if (edge.source === top.key) loops++;
				else cut++;
				top.next++;
			}
		}
	}
	return { order, cut, loops };
}
