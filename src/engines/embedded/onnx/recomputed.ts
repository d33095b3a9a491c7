import { add, multiply } from './elementwise.ts';
import { pullBack } from './gradient.ts';
import { Value } from './graph.ts';
import { slice } from './layout.ts';

/**
 * Applies `build` to `x` and `weights`. Its intermediate values are recomputed for the gradient instead of being
 * kept until then (Chen et al. 2016, "Training Deep Nets with Sublinear Memory Cost", section 4).
 */
export function recomputed(
	x: Value,
	weights: readonly Value[],
	build: (x: Value, weights: readonly Value[]) => Value,
): Value {
	const known = new Map<Value, readonly Value[]>();
	const partsOf = (d: Value): readonly Value[] => {
		const parts = known.get(d) ?? gradientsOf(x, weights, build, d);
		known.set(d, parts);
		return parts;
	};
	const inputs = [x, ...weights];
	return x.graph.composite(
		inputs,
		() => build(x, weights),
		inputs.map((_, i) => (d) => partsOf(d)[i] as Value),
	);
}

function gradientsOf(
	x: Value,
	weights: readonly Value[],
	build: (x: Value, weights: readonly Value[]) => Value,
	d: Value,
): readonly Value[] {
	const variable = ({ graph, name, shape, type }: Value) => new Value(graph, name, shape, type, true);
	const variables = [after(x, d), ...weights].map(variable);
	const [again, ...sameWeights] = variables as [Value, ...Value[]];
	const { result, tape } = x.graph.taped(() => build(again, sameWeights));
	return pullBack(tape, result, d, variables);
}

/**
 * Returns x, available only after d: without this dependency, the runtime would merge the repeated operators with the
 * first ones, and keep their results. If d is not finite, neither the result nor any gradient is.
 */
function after(x: Value, d: Value): Value {
	const first = d.shape.reduce<Value>((part, _, axis) => slice(part, axis, 0, 1), d);
	return add(x, multiply(first, 0));
}
