import type { Graph } from '../../src/engines/embedded/onnx/graph.ts';
import type { ElementType, OnnxModel, OnnxNode, Shape } from '../../src/engines/embedded/onnx/onnxModel.ts';

/** Operators whose result shares the memory of their first input. */
const views = new Set(['Reshape', 'Flatten', 'Squeeze', 'Unsqueeze', 'Identity']);

const bytesOf: Readonly<Record<ElementType, number>> = {
	float32: 4,
	float64: 8,
	int32: 4,
	int64: 8,
	bool: 1,
	float16: 2,
	bfloat16: 2,
};

/** Sizes of the named axes of a program's inputs. */
export type Sizes = Readonly<Record<string, number>>;

/** Returns the number of elements, or null if a size is not known. */
function elements(shape: Shape, sizes: Sizes): number | null {
	let count = 1;
	for (const dim of shape) {
		const size = typeof dim === 'number' ? dim : sizes[dim];
		if (size === undefined) return null;
		count *= size;
	}
	return count;
}

/**
 * Returns the operators in the order in which the runtime executes them: those without readers from last to first, each
 * after its inputs, which also run from last to first (onnxruntime: `Graph::ReverseDFSFrom`). The runtime removes
 * copies to outputs beforehand.
 */
function executed(nodes: readonly OnnxNode[]): OnnxNode[] {
	const kept = nodes.filter(({ op }) => op !== 'Identity');
	const read = new Set(kept.flatMap(({ inputs }) => inputs));
	const makers = new Map(kept.flatMap(({ outputs }, at) => outputs.map((name) => [name, at] as const)));
	const stack: { readonly at: number; readonly done: boolean }[] = kept.flatMap(({ outputs }, at) =>
		outputs.some((name) => read.has(name)) ? [] : [{ at, done: false }],
	);
	const seen = new Set<number>();
	const order: OnnxNode[] = [];
	for (let work = stack.pop(); work !== undefined; work = stack.pop()) {
		const { at, done } = work;
		const node = kept[at] as OnnxNode;
		if (done) order.push(node);
		if (done || seen.has(at)) continue;
		seen.add(at);
		stack.push({ at, done: true });
		const inputs = new Set(node.inputs.flatMap((name) => makers.get(name) ?? []));
		for (const input of [...inputs].sort((a, b) => a - b)) if (!seen.has(input)) stack.push({ at: input, done: false });
	}
	return [...order, ...nodes.filter(({ op }) => op === 'Identity')];
}

/**
 * Returns the maximum size of the values that exist at the same time when the runtime executes a program: inputs and
 * outputs, and results from the operator that computes them to the last one that reads them. In bytes, without the
 * working memory of operators and what a runtime reserves.
 */
export function programPeak(graph: Graph, sizes: Sizes): number {
	const model: OnnxModel = graph.model();
	const nodes = executed(model.nodes);
	const known = new Map<string, number>();
	for (const { name, shape, type } of [...graph.observed().outputs, ...model.inputs, ...model.initializers]) {
		const count = elements(shape, sizes);
		if (count !== null) known.set(name, count * bytesOf[type]);
	}
	/** Value whose memory a view shares. */
	const source = new Map<string, string>();
	const root = (name: string): string => source.get(name) ?? name;
	const last = new Map<string, number>();
	for (const [at, { op, inputs, outputs }] of nodes.entries()) {
		const [first] = inputs;
		if (views.has(op) && first !== undefined) source.set(outputs[0] as string, root(first));
		const read = inputs.filter((name) => name !== '').map((name) => known.get(root(name)) ?? 0);
		for (const name of outputs) {
			if (known.has(name)) continue;
			// The size depends on the operator: the sum of what it joins, a part of what it splits, or one of its inputs.
			const most = op === 'Concat' ? read.reduce((sum, x) => sum + x, 0) : Math.max(0, ...read);
			known.set(name, op === 'Split' ? most / outputs.length : most);
		}
		for (const name of inputs) last.set(root(name), at);
	}
	for (const { name } of model.outputs) last.set(root(name), Number.POSITIVE_INFINITY);
	const kept = [...model.inputs, ...model.initializers].map(({ name }) => name);
	let live = kept.reduce((sum, name) => sum + (known.get(name) ?? 0), 0);
	let peak = live;
	const fixed = new Set(kept);
	for (const [at, { inputs, outputs }] of nodes.entries()) {
		for (const name of outputs) if (!source.has(name)) live += known.get(name) ?? 0;
		peak = Math.max(peak, live);
		for (const name of new Set([...inputs, ...outputs].map(root))) {
			if (fixed.has(name) || (last.get(name) ?? -1) > at) continue;
			live -= known.get(name) ?? 0;
		}
	}
	return peak;
}

/** Returns the sizes of a packed micro-batch whose rows have different texts of the same length. */
export function packedSizes(batch: { readonly rows: number; readonly length: number; readonly prompt: number }): Sizes {
	const { rows, length, prompt } = batch;
	const [kept, prefix] = [length - prompt, Math.max(1, prompt - 1)];
	const own = rows * kept + 1;
	return {
		rows,
		kept,
		prefix,
		own,
		seen: prefix + kept,
		groups: rows,
		places: own + rows * (prompt - 1),
		positions: rows,
	};
}
