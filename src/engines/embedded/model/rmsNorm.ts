import { add, divide, multiply, sqrt, subtract } from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { sumTo } from '../onnx/layout.ts';
import { reduceMean } from '../onnx/reduction.ts';

export const normEpsilon = 1e-5;

/** Intermediate values of the forward pass needed by the gradient. */
interface Parts {
	/** 1 / sqrt(mean(x²) + epsilon), [..., 1] */
	scale?: Value;
	/** x * scale, computed on first use */
	normalized?: Value;
}

/** onnxruntime's fused operator: one pass instead of seven. */
function fusedNorm(x: Value, weight: Value, parts: Parts): Value {
	const attributes = { axis: -1, epsilon: { float: normEpsilon }, stash_type: 1 };
	const shapes = [x.shape, [...x.shape.slice(0, -1), 1]];
	const [y, scale] = x.graph.nodes('SimplifiedLayerNormalization', [x, weight], shapes, { attributes }) as [
		Value,
		Value,
	];
	parts.scale = scale;
	return y;
}

function normalized(x: Value, parts: Parts): Value {
	parts.normalized ??= multiply(x, parts.scale as Value);
	return parts.normalized;
}

/**
 * x / sqrt(mean(x²) + epsilon) * weight over the last axis (Zhang and Sennrich 2019, eq. 4), with a fused gradient: for
 * n = x * scale and u = d * weight, dx = scale * (u - n mean(u n)).
 */
export function rmsNorm(x: Value, weight: Value): Value {
	const graph = x.graph;
	const parts: Parts = {};
	const forward = (): Value => {
		if (!graph.portable) return fusedNorm(x, weight, parts);
		const root = sqrt(add(reduceMean(multiply(x, x), [-1]), normEpsilon));
		parts.scale = divide(graph.scalar(1), root);
		return multiply(multiply(x, parts.scale), weight);
	};
	return graph.composite([x, weight], forward, [
		(d) => {
			const u = multiply(d, weight);
			const n = normalized(x, parts);
			return multiply(parts.scale as Value, subtract(u, multiply(n, reduceMean(multiply(u, n), [-1]))));
		},
		(d) => sumTo(multiply(d, normalized(x, parts)), weight.shape),
	]);
}
