import { add } from './elementwise.ts';
import type { Value } from './graph.ts';
import { expandLike, zerosLike } from './layout.ts';

/**
 * Reverse-mode differentiation. Returns the gradients of the scalar `loss` with respect to `variables`, adding the
 * required nodes to the graph of the loss.
 */
export function gradients(loss: Value, variables: readonly Value[]): Value[] {
	const graph = loss.graph;
	const found = new Map<Value, Value>([[loss, expandLike(graph.scalar(1), loss)]]);
	graph.untracked(() => {
		for (const entry of graph.tape.toReversed()) {
			if (!entry.outputs.some((output) => found.has(output))) continue;
			const incoming = entry.outputs.map((output) => found.get(output) ?? zerosLike(output));
			entry.inputs.forEach((input, i) => {
				const backward = entry.backward[i];
				if (!input.tracked || !backward) return;
				const part = backward(...incoming);
				const before = found.get(input);
				found.set(input, before ? add(before, part) : part);
			});
		}
	});
	return variables.map((variable) => found.get(variable) ?? zerosLike(variable));
}
