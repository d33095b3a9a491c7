/**
 * Returns the cycles in a directed graph: its strongly connected components with more than one node (Tarjan 1972), each
 * sorted. Ignores edges to nodes that are not keys.
 */
export function circlesOf(edges: ReadonlyMap<string, readonly string[]>): string[][] {
	const order = new Map<string, number>();
	const lowest = new Map<string, number>();
	const stack: string[] = [];
	const circles: string[][] = [];
	const visit = (node: string): void => {
		const number = order.size;
		order.set(node, number);
		lowest.set(node, number);
		stack.push(node);
		const reach = (value: number) => lowest.set(node, Math.min(lowest.get(node) as number, value));
		for (const next of edges.get(node) ?? []) {
			if (!edges.has(next)) continue;
			if (!order.has(next)) {
				visit(next);
				reach(lowest.get(next) as number);
			} else if (stack.includes(next)) reach(order.get(next) as number);
		}
		if (lowest.get(node) !== number) return;
		const component = stack.splice(stack.indexOf(node));
		if (component.length > 1) circles.push(component.toSorted());
	};
	for (const node of edges.keys()) if (!order.has(node)) visit(node);
	return circles;
}
