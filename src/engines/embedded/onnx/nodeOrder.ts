import type { OnnxNode } from './onnxModel.ts';

/**
 * Reorders a program's operators so that the runtime computes each output as early as possible.
 *
 * The runtime chooses its own order: it visits the operators without readers from last to first, and places each one
 * after its inputs, starting with the input that is last in the file (onnxruntime: `Graph::ReverseDFSFrom`, called by
 * `GraphViewer`). Backpropagation reaches the first layer last, so the runtime would compute that layer's weight
 * gradients first, and keep the inputs of all others until then. Operators that only one output needs therefore come
 * last here, in reverse order.
 */
export function outputsEarly(nodes: readonly OnnxNode[], outputs: readonly string[]): OnnxNode[] {
	const makers = new Map(nodes.flatMap(({ outputs: made }, at) => made.map((name) => [name, at] as const)));
	const inputsOf = (at: number) => (nodes[at]?.inputs ?? []).flatMap((name) => makers.get(name) ?? []);
	const owners = ownersOf(nodes.length, outputs, makers, inputsOf);
	const placed = new Set(owners.flatMap((owner, at) => (owner === null ? [at] : [])));
	const order = [...placed];
	const parts = outputs.map((output) => owners.flatMap((owner, at) => (owner === output ? [at] : [])));
	/** The last shared operator that an output needs. */
	const need = (part: readonly number[]) => Math.max(-1, ...part.flatMap(inputsOf).filter((at) => owners[at] === null));
	const sorted = parts.map((part) => ({ part, last: need(part), size: part.length }));
	sorted.sort((a, b) => b.last - a.last || b.size - a.size);
	for (const { part } of sorted) {
		const left = [...part];
		while (left.length > 0) {
			const next = left.findLastIndex((at) => inputsOf(at).every((input) => placed.has(input)));
			const [at] = left.splice(next, 1) as [number];
			placed.add(at);
			order.push(at);
		}
	}
	return order.map((at) => nodes[at] as OnnxNode);
}

/** Returns the only output that needs each operator, or null for those that several outputs need. */
function ownersOf(
	count: number,
	outputs: readonly string[],
	makers: ReadonlyMap<string, number>,
	inputsOf: (at: number) => readonly number[],
): (string | null)[] {
	const owners = new Map<number, string | null>();
	const need = (at: number, owner: string | null) => {
		owners.set(at, owners.has(at) && owners.get(at) !== owner ? null : owner);
	};
	for (const name of outputs) {
		const at = makers.get(name);
		if (at !== undefined) need(at, name);
	}
	for (let at = count - 1; at >= 0; at--) for (const input of inputsOf(at)) need(input, owners.get(at) ?? null);
	return Array.from({ length: count }, (_, at) => owners.get(at) ?? null);
}
