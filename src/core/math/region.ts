import type { Comparison, Endpoint, Region, RegionPart, Relation, Scalar, Sequence } from './answer.ts';
import { Budget, evaluate } from './evaluate.ts';
import { exactValue } from './exactValue.ts';
import { type Expression, freeSymbols } from './expression.ts';
import * as F from './fixedPoint.ts';
import * as Q from './rational.ts';

/** Returns the real value of a constant in fixed point, or null if it has symbols, is complex, or is undefined. */
export function realValue(expression: Expression): bigint | null {
	if (freeSymbols(expression).size > 0) return null;
	const value = evaluate(expression, new Map(), new Budget(4_000))?.value;
	if (value === undefined || value.im > value.error || value.im < -value.error) return null;
	return value.re;
}

/** Returns whether two endpoints are equal within a tolerance relative to their size. */
function samePoint(a: bigint, b: bigint): boolean {
	const difference = a > b ? a - b : b - a;
	const size = (a < 0n ? -a : a) + (b < 0n ? -b : b) + F.unit;
	return difference <= size >> 150n;
}

/** Position of an endpoint on the real line; infinite endpoints lie beyond all others. */
interface Position {
	readonly infinite: -1 | 0 | 1;
	readonly value: bigint;
}

function position(end: Endpoint, side: -1 | 1): Position | null {
	if (end.value === null) return { infinite: side, value: 0n };
	const value = realValue(end.value.expression);
	return value === null ? null : { infinite: 0, value };
}

function order(a: Position, b: Position): number {
	if (a.infinite !== b.infinite) return a.infinite - b.infinite;
	if (a.infinite !== 0 || samePoint(a.value, b.value)) return 0;
	return a.value < b.value ? -1 : 1;
}

interface Placed {
	readonly low: Position;
	readonly high: Position;
	readonly part: RegionPart;
}

function place(part: RegionPart): Placed | null {
	const low = position(part.low, -1);
	const high = position(part.high, 1);
	return low === null || high === null ? null : { low, high, part };
}

/** Returns whether two regions have the same endpoints, regardless of variable names. */
export function sameRegion(a: Region, b: Region): boolean {
	const [first, second] = [a.parts.map(place), b.parts.map(place)];
	if (first.length !== second.length) return false;
	return first.every((one, i) => {
		const other = second[i];
		if (one === null || other == null) return false;
		return (
			order(one.low, other.low) === 0 &&
			order(one.high, other.high) === 0 &&
			one.part.low.closed === other.part.low.closed &&
			one.part.high.closed === other.part.high.closed
		);
	});
}

/** Sorts the parts, removes empty ones, and joins adjacent ones. Returns null if an endpoint has no value. */
function normalized(parts: readonly RegionPart[]): RegionPart[] | null {
	const placed = parts.map(place);
	if (placed.some((one) => one === null)) return null;
	const sorted = (placed as Placed[])
		.filter(({ low, high, part }) => {
			const direction = order(low, high);
			return direction < 0 || (direction === 0 && part.low.closed && part.high.closed);
		})
		.sort((a, b) => order(a.low, b.low) || Number(b.part.low.closed) - Number(a.part.low.closed));
	const result: Placed[] = [];
	for (const next of sorted) {
		const last = result.at(-1);
		const gap = last === undefined ? 1 : order(next.low, last.high);
		if (last === undefined || gap > 0 || (gap === 0 && !next.part.low.closed && !last.part.high.closed)) {
			result.push(next);
			continue;
		}
		const further = order(next.high, last.high);
		const high =
			further > 0
				? next.part.high
				: further === 0
					? { value: last.part.high.value, closed: last.part.high.closed || next.part.high.closed }
					: last.part.high;
		result[result.length - 1] = {
			low: last.low,
			high: further > 0 ? next.high : last.high,
			part: { low: last.part.low, high },
		};
	}
	return result.map(({ part }) => part);
}

export function union(regions: readonly Region[]): Region | null {
	const parts = normalized(regions.flatMap((region) => region.parts));
	const variable = regions.find((region) => region.variable !== null)?.variable ?? null;
	return parts === null ? null : { kind: 'region', parts, variable };
}

export function intersection(regions: readonly Region[]): Region | null {
	const [first, ...rest] = regions;
	let parts = first?.parts ?? [];
	for (const region of rest) {
		const next: RegionPart[] = [];
		for (const a of parts) {
			for (const b of region.parts) {
				const [placedA, placedB] = [place(a), place(b)];
				if (placedA === null || placedB === null) return null;
				next.push({
					low: tighter(a.low, b.low, order(placedA.low, placedB.low)),
					high: tighter(a.high, b.high, -order(placedA.high, placedB.high)),
				});
			}
		}
		parts = next;
	}
	const joined = normalized(parts);
	const variable = regions.find((region) => region.variable !== null)?.variable ?? null;
	return joined === null ? null : { kind: 'region', parts: joined, variable };
}

/** Returns the tighter of two endpoints. At the same position, an open endpoint is tighter. */
function tighter(a: Endpoint, b: Endpoint, direction: number): Endpoint {
	if (direction === 0) return { value: a.value, closed: a.closed && b.closed };
	return direction > 0 ? a : b;
}

/** Returns the part of one region that is not in the other. */
export function without(region: Region, removed: Region): Region | null {
	const infinite: Endpoint = { value: null, closed: false };
	const outside: RegionPart[] = [];
	let low: Endpoint = infinite;
	for (const part of removed.parts) {
		outside.push({ low, high: { value: part.low.value, closed: !part.low.closed } });
		low = { value: part.high.value, closed: !part.high.closed };
		if (part.low.value === null) outside.pop();
		if (part.high.value === null) return intersection([region, { ...removed, parts: outside }]);
	}
	outside.push({ low, high: infinite });
	return intersection([region, { kind: 'region', parts: outside, variable: region.variable }]);
}

function endpoint(item: Sequence['items'][number], closed: boolean, side: -1 | 1): Endpoint | null {
	// -∞ can only be the low endpoint, ∞ only the high one, and both must be open.
	if (item.kind === 'infinite') return item.sign === side && !closed ? { value: null, closed } : null;
	return item.kind === 'scalar' ? { value: item, closed } : null;
}

/**
 * Returns `(a, b]` as an interval, or null if the sequence cannot be an interval because it does not have two items,
 * contains symbols, or has its endpoints out of order.
 */
export function regionOfSequence({ open, close, items }: Sequence): Region | null {
	if (items.length !== 2) return null;
	const low = endpoint(items[0] as Sequence['items'][number], open === '[', -1);
	const high = endpoint(items[1] as Sequence['items'][number], close === ']', 1);
	if (low === null || high === null) return null;
	const placed = place({ low, high });
	if (placed === null || order(placed.low, placed.high) > 0) return null;
	return union([{ kind: 'region', parts: [{ low, high }], variable: null }]);
}

const flipped: Readonly<Record<Comparison, Comparison>> = {
	'<': '>',
	'>': '<',
	'≤': '≥',
	'≥': '≤',
	'=': '=',
	'≠': '≠',
};

/**
 * Solves relations such as `a < x`, `1 < 2x + 3 ≤ 5`, `|x - 1| < 2`, and `x ≠ 3`: comparisons of one linear term (or
 * its absolute value, or an undefined function such as f(x)) with constants. Returns null for anything more complex.
 */
export function regionOfRelation({ sides, comparisons }: Relation): Region | null {
	if (sides.length === 3) {
		const [a, b, c] = sides as [Expression, Expression, Expression];
		const [first, second] = comparisons as [Comparison, Comparison];
		if (!sameDirection(first, second)) return null;
		const regions = [
			regionOfRelation({ kind: 'relation', sides: [a, b], comparisons: [first] }),
			regionOfRelation({ kind: 'relation', sides: [b, c], comparisons: [second] }),
		];
		if (regions[0] == null || regions[1] == null || regions[0].variable !== regions[1].variable) return null;
		return intersection(regions as Region[]);
	}
	if (sides.length !== 2) return null;
	let [left, right] = sides as [Expression, Expression];
	let comparison = comparisons[0] as Comparison;
	if (freeSymbols(left).size === 0) {
		[left, right] = [right, left];
		comparison = flipped[comparison];
	}
	if (freeSymbols(right).size > 0 || realValue(right) === null) return null;
	if (left.op === 'call' && left.name === 'abs') return absoluteRegion(left.args[0], right, comparison);
	const linear = linearTerm(left);
	if (linear === null) return null;
	const bound = shifted(right, linear);
	if (linear.slope.n < 0n) comparison = flipped[comparison];
	return halfLine(bound, comparison, linear.variable);
}

const sameDirection = (a: Comparison, b: Comparison): boolean =>
	('<≤'.includes(a) && '<≤'.includes(b)) || ('>≥'.includes(a) && '>≥'.includes(b));

function halfLine(bound: Expression, comparison: Comparison, variable: string): Region | null {
	const infinite: Endpoint = { value: null, closed: false };
	const at = (closed: boolean): Endpoint => ({ value: constant(bound), closed });
	const part = (low: Endpoint, high: Endpoint): RegionPart => ({ low, high });
	const parts: Readonly<Record<Comparison, readonly RegionPart[]>> = {
		'<': [part(infinite, at(false))],
		'≤': [part(infinite, at(true))],
		'>': [part(at(false), infinite)],
		'≥': [part(at(true), infinite)],
		'≠': [part(infinite, at(false)), part(at(false), infinite)],
		'=': [part(at(true), at(true))],
	};
	const joined = normalized(parts[comparison]);
	return joined === null ? null : { kind: 'region', parts: joined, variable };
}

function constant(expression: Expression): Scalar {
	let exact: Q.Rational | null = null;
	try {
		exact = exactValue(expression);
	} catch {
		// Too large to write out: it is compared by evaluation, if at all.
	}
	return {
		kind: 'scalar',
		expression,
		exact,
		digits: null,
		percent: false,
		approximate: false,
		unit: null,
		source: '',
	};
}

function absoluteRegion(inside: Expression, bound: Expression, comparison: Comparison): Region | null {
	const minus: Expression = { op: 'multiply', args: [{ op: 'number', value: Q.rational(-1n) }, bound] };
	const relation = (sides: Expression[], comparisons: Comparison[]) =>
		regionOfRelation({ kind: 'relation', sides, comparisons });
	if (comparison === '<' || comparison === '≤') return relation([minus, inside, bound], [comparison, comparison]);
	if (comparison === '>' || comparison === '≥') {
		const parts = [relation([inside, bound], [comparison]), relation([inside, minus], [flipped[comparison]])];
		return parts.some((one) => one === null) ? null : union(parts as Region[]);
	}
	return null;
}

interface Linear {
	readonly variable: string;
	readonly slope: Q.Rational;
	readonly offset: Q.Rational;
}

function substitute(node: Expression, name: string, value: Q.Rational): Expression {
	if (node.op === 'symbol') return node.name === name ? { op: 'number', value } : node;
	if (node.op === 'number' || node.op === 'constant') return node;
	return { ...node, args: node.args.map((arg) => substitute(arg, name, value)) } as Expression;
}

/** Returns a x + b with rational a and b, verified at four points. An undefined function is treated as a variable. */
function linearTerm(node: Expression): Linear | null {
	if (node.op === 'unknown' && node.args.every((arg) => arg.op === 'symbol'))
		return { variable: `${node.name}()`, slope: Q.one, offset: Q.zero };
	if (node.op === 'unknown') return null;
	const symbols = [...freeSymbols(node)];
	const variable = symbols[0];
	if (symbols.length !== 1 || variable === undefined || variable.endsWith('()')) return null;
	const at = (x: bigint): Q.Rational | null => {
		try {
			return exactValue(substitute(node, variable, Q.rational(x)));
		} catch {
			return null;
		}
	};
	const [zero, one, two, far] = [at(0n), at(1n), at(2n), at(-1_000_003n)];
	if (zero === null || one === null || two === null || far === null) return null;
	const slope = Q.subtract(one, zero);
	if (slope.n === 0n || !Q.equal(Q.subtract(two, one), slope)) return null;
	if (!Q.equal(Q.subtract(far, zero), Q.multiply(slope, Q.rational(-1_000_003n)))) return null;
	return { variable, slope, offset: zero };
}

/** Returns (bound - offset) / slope. */
function shifted(bound: Expression, { slope, offset }: Linear): Expression {
	if (offset.n === 0n && Q.equal(slope, Q.one)) return bound;
	const difference: Expression = { op: 'add', args: [bound, { op: 'number', value: Q.negate(offset) }] };
	return { op: 'divide', args: [difference, { op: 'number', value: slope }] };
}
