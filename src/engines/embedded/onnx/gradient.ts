import { add } from './elementwise.ts';
import type { TapeEntry, Value } from './graph.ts';
import { expandLike, zerosLike } from './layout.ts';

/**
 * Reverse-mode differentiation. Returns the gradients of the scalar `loss` with respect to `variables`, adding the
 * required nodes to the graph of the loss.
 */
export function gradients(loss: Value, variables: readonly Value[]): Value[] {
	const { graph } = loss;
	return pullBack(graph.tape, loss, expandLike(graph.scalar(1), loss), variables);
}

/** Returns the gradients with respect to `variables`, given the gradient of `output`, over the steps of a tape. */
export function pullBack(
	tape: readonly TapeEntry[],
	output: Value,
	gradient: Value,
	variables: readonly Value[],
): Value[] {
	const found = new Map<Value, Value>([[output, gradient]]);
	output.graph.untracked(() => {
		for (const entry of tape.toReversed()) {
			if (!entry.outputs.some((value) => found.has(value))) continue;
			const incoming = entry.outputs.map((value) => found.get(value) ?? zerosLike(value));
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
