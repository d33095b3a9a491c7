import { add, divide, multiply, sqrt, subtract } from '../onnx/elementwise.ts';
import type { Value } from '../onnx/graph.ts';
import { sumTo } from '../onnx/layout.ts';
import { reduceMean } from '../onnx/reduction.ts';

export const normEpsilon = 1e-5;

/**
 * x / sqrt(mean(x²) + epsilon) * weight over the last axis (Zhang and Sennrich 2019, eq. 4), differentiated in one piece:
 * with n = x * scale and u = d * weight, dx = scale * (u - n mean(u n)).
 */
export function rmsNorm(x: Value, weight: Value): Value {
	const graph = x.graph;
	const parts: { scale?: Value; normalised?: Value } = {};
	const forward = (): Value => {
		const root = sqrt(add(reduceMean(multiply(x, x), [-1]), normEpsilon));
		parts.scale = divide(graph.scalar(1), root);
		parts.normalised = multiply(x, parts.scale);
		return multiply(parts.normalised, weight);
	};
	return graph.composite([x, weight], forward, [
		(d) => {
			const { scale, normalised } = parts as Required<typeof parts>;
			const u = multiply(d, weight);
			return multiply(scale, subtract(u, multiply(normalised, reduceMean(multiply(u, normalised), [-1]))));
		},
		(d) => sumTo(multiply(d, parts.normalised as Value), weight.shape),
	]);
}
