import { exp, log, multiply, subtract } from './elementwise.ts';
import type { Value } from './graph.ts';
import { reduceMax, reduceSum } from './reduction.ts';

/** Computes softmax over the last axis. */
export function softmax(x: Value): Value {
	const y: Value = x.graph.node('Softmax', [x], x.shape, {
		attributes: { axis: -1 },
		backward: [
			(d) => {
				const dy = multiply(d, y);
				return subtract(dy, multiply(y, reduceSum(dy, [-1])));
			},
		],
	});
	return y;
}

/** Computes log(softmax(x)) over the last axis. */
export function logSoftmax(x: Value): Value {
	const { graph } = x;
	const forward = (): Value => {
		if (graph.dialect.logSoftmax) return graph.node('LogSoftmax', [x], x.shape, { attributes: { axis: -1 } });
		const shifted = subtract(x, reduceMax(x));
		return subtract(shifted, log(reduceSum(exp(shifted), [-1])));
	};
	const y: Value = graph.composite([x], forward, [(d) => subtract(d, multiply(exp(y), reduceSum(d, [-1])))]);
	return y;
}
