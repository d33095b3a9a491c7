import { add, divide, multiply, sqrt, subtract } from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { fixed, sumTo } from '../onnx/layout.ts';
import { reduceMean, sumOfSquares } from '../onnx/reduction.ts';

export const normEpsilon = 1e-5;

/** Intermediate values from the forward pass that the gradient needs. */
interface Parts {
	/** 1 / sqrt(mean(x²) + epsilon), [..., 1]; computed on first use unless the forward pass provides it */
	scale?: Value;
	/** x * scale, computed on first use. */
	normalized?: Value;
}

/** onnxruntime's fused operator, which takes one pass instead of seven. */
function fusedNorm(x: Value, weight: Value, parts: Parts): Value {
	const attributes = { axis: -1, epsilon: { float: normEpsilon }, stash_type: 1 };
	const shapes = [x.shape, ...(x.graph.dialect.normScale ? [[...x.shape.slice(0, -1), 1]] : [])];
	const [y, scale] = x.graph.nodes('SimplifiedLayerNormalization', [x, weight], shapes, { attributes });
	if (scale !== undefined) parts.scale = scale;
	return y as Value;
}

/** sqrt(width) / sqrt(sum(x²) + width epsilon): the same value with fewer operators. */
function scaleOf(x: Value, parts: Parts): Value {
	const width = fixed(x.dim(-1));
	parts.scale ??= divide(x.graph.scalar(Math.sqrt(width)), sqrt(add(sumOfSquares(x), width * normEpsilon)));
	return parts.scale;
}

function normalized(x: Value, parts: Parts): Value {
	parts.normalized ??= multiply(x, scaleOf(x, parts));
	return parts.normalized;
}

/**
 * Returns x / sqrt(mean(x²) + epsilon) * weight over the last axis (Zhang and Sennrich 2019, eq. 4), with a fused
 * gradient: for n = x * scale and u = d * weight, dx = scale * (u - n mean(u n)).
 */
export function rmsNorm(x: Value, weight: Value): Value {
	const graph = x.graph;
	const parts: Parts = {};
	const forward = (): Value => {
		if (graph.dialect.fusedNorm) return fusedNorm(x, weight, parts);
		return multiply(normalized(x, parts), weight);
	};
	return graph.composite([x, weight], forward, [
		(d) => {
			const u = multiply(d, weight);
			const n = normalized(x, parts);
			return multiply(scaleOf(x, parts), subtract(u, multiply(n, reduceMean(multiply(u, n), [-1]))));
		},
		(d) => sumTo(multiply(d, normalized(x, parts)), weight.shape),
	]);
}
