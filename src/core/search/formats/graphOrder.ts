export interface GraphEdge {
	readonly source: string;
	readonly target: string;
}

export interface OrderedNode {
	readonly key: string;
	/** Parents, all of which precede the node in the order. */
	readonly parents: readonly string[];
}

/**
 * Sorts the nodes of an arbitrary graph so that parents precede their children, otherwise preserving order. Removes
 * edges that would close a cycle (`cut`), self-loops (`loops`) and duplicate edges.
 * @param incoming edges by target; sources that are not keys are skipped
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
	// Depth-first search along parents, with an explicit stack because chains in a file can have any length.
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
