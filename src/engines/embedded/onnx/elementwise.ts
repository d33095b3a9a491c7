import type { Backward, Value } from './graph.ts';
import { broadcastShape, sumTo } from './layout.ts';
import { type ElementType, elementTypeCodes } from './onnxModel.ts';

/** Elementwise operators with NumPy broadcasting, each with its gradient. */

type Operand = Value | number;

function binary(
	op: string,
	a: Value,
	b: Operand,
	left: (d: Value, b: Value) => Value,
	right: (d: Value, b: Value) => Value,
) {
	const other = typeof b === 'number' ? a.graph.scalar(b) : b;
	return a.graph.node(op, [a, other], broadcastShape(a.shape, other.shape), {
		backward: [(d) => sumTo(left(d, other), a.shape), (d) => sumTo(right(d, other), other.shape)],
	});
}

function unary(op: string, x: Value, backward: (d: Value, y: Value) => Value): Value {
	const y: Value = x.graph.node(op, [x], x.shape, { backward: [(d) => backward(d, y)] });
	return y;
}

export function add(a: Value, b: Operand): Value {
	return binary(
		'Add',
		a,
		b,
		(d) => d,
		(d) => d,
	);
}

export function subtract(a: Value, b: Operand): Value {
	return binary(
		'Sub',
		a,
		b,
		(d) => d,
		(d) => negate(d),
	);
}

export function multiply(a: Value, b: Operand): Value {
	return binary(
		'Mul',
		a,
		b,
		(d, other) => multiply(d, other),
		(d) => multiply(d, a),
	);
}

export function divide(a: Value, b: Operand): Value {
	return binary(
		'Div',
		a,
		b,
		(d, other) => divide(d, other),
		(d, other) => negate(divide(multiply(d, a), multiply(other, other))),
	);
}

export function negate(x: Value): Value {
	return unary('Neg', x, (d) => negate(d));
}

export function exp(x: Value): Value {
	return unary('Exp', x, (d, y) => multiply(d, y));
}

export function log(x: Value): Value {
	return unary('Log', x, (d) => divide(d, x));
}

export function sqrt(x: Value): Value {
	return unary('Sqrt', x, (d, y) => divide(multiply(d, 0.5), y));
}

export function sigmoid(x: Value): Value {
	return unary('Sigmoid', x, (d, y) => multiply(d, multiply(y, negate(subtract(y, 1)))));
}

/** x * sigmoid(x) (Elfwing 2017, eq. 4), with a fused gradient: d * (s + y (1 - s)). */
export function silu(x: Value): Value {
	const graph = x.graph;
	let s: Value | undefined;
	const y: Value = graph.composite([x], () => {
		s = sigmoid(x);
		return multiply(x, s);
	}, [(d) => multiply(d, add(s as Value, subtract(y, multiply(y, s as Value))))]);
	return y;
}

export function compare(op: 'Less' | 'LessOrEqual' | 'Greater' | 'Equal', a: Value, b: Operand): Value {
	const other = typeof b === 'number' ? a.graph.scalar(b) : b;
	return a.graph.node(op, [a, other], broadcastShape(a.shape, other.shape), { type: 'bool' });
}

/** Returns `a` where the condition is true, and `b` elsewhere. */
export function where(condition: Value, a: Value, b: Value): Value {
	const shape = broadcastShape(condition.shape, broadcastShape(a.shape, b.shape));
	const zero = condition.graph.scalar(0);
	const backward: (Backward | null)[] = [
		null,
		(d) => sumTo(where(condition, d, zero), a.shape),
		(d) => sumTo(where(condition, zero, d), b.shape),
	];
	return condition.graph.node('Where', [condition, a, b], shape, { type: a.type, backward });
}

/** Returns the elementwise minimum. If the values are equal, the gradient goes to `a`. */
export function minimum(a: Value, b: Value): Value {
	return where(compare('LessOrEqual', a, b), a, b);
}

/** Returns the elementwise maximum. If the values are equal, the gradient goes to `a`. */
export function maximum(a: Value, b: Value): Value {
	return negate(minimum(negate(a), negate(b)));
}

/** Clips x to [low, high]. The gradient outside the range is 0. */
export function clip(x: Value, low: Value, high: Value): Value {
	return where(compare('Less', x, low), low, where(compare('Greater', x, high), high, x));
}

/** Converts the element type. For `bool`, returns whether each element is nonzero. */
export function cast(x: Value, type: ElementType): Value {
	return x.graph.node('Cast', [x], x.shape, { attributes: { to: elementTypeCodes[type] }, type });
}
