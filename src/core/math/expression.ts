import type { Rational } from './rational.ts';

/** Functions of one argument that can be evaluated. Angles are in radians. */
export const functionNames = [
	'sqrt',
	'abs',
	'exp',
	'ln',
	'sin',
	'cos',
	'tan',
	'cot',
	'sec',
	'csc',
	'arcsin',
	'arccos',
	'arctan',
	'arccot',
	'arcsec',
	'arccsc',
	'sinh',
	'cosh',
	'tanh',
	'arsinh',
	'arcosh',
	'artanh',
	'floor',
	'ceil',
	'factorial',
	'conjugate',
	're',
	'im',
	'arg',
	'sign',
] as const;
export type FunctionName = (typeof functionNames)[number];

/** Operations on any number of values. */
export type ListOperation = 'max' | 'min' | 'gcd' | 'lcm';
/** Operations over a range of integers. */
export type SeriesOperation = 'sum' | 'product';

/** An expression in the form used for comparison: parsed from LaTeX, without any simplification. */
export type Expression =
	| { readonly op: 'number'; readonly value: Rational }
	| { readonly op: 'symbol'; readonly name: string }
	| { readonly op: 'constant'; readonly name: 'pi' | 'e' | 'i' }
	| { readonly op: 'add' | 'multiply'; readonly args: readonly Expression[] }
	| { readonly op: 'divide' | 'power'; readonly args: readonly [Expression, Expression] }
	/** The n-th root: [radicand, n]. */
	| { readonly op: 'root' | 'log' | 'binomial' | 'mod'; readonly args: readonly [Expression, Expression] }
	| { readonly op: ListOperation; readonly args: readonly Expression[] }
	| { readonly op: 'call'; readonly name: FunctionName; readonly args: readonly [Expression] }
	/** A function with no definition here. Two are equal if their names and arguments are equal. */
	| { readonly op: 'unknown'; readonly name: string; readonly args: readonly Expression[] }
	| {
			readonly op: SeriesOperation;
			readonly variable: string;
			/** Lower bound, upper bound, and term. */
			readonly args: readonly [Expression, Expression, Expression];
	  };

/** Returns the names of free symbols. Undefined functions are listed as `f()`. */
export function freeSymbols(expression: Expression): Set<string> {
	const names = new Set<string>();
	const visit = (node: Expression, bound: ReadonlySet<string>): void => {
		if (node.op === 'symbol') {
			if (!bound.has(node.name)) names.add(node.name);
			return;
		}
		if (node.op === 'number' || node.op === 'constant') return;
		if (node.op === 'unknown') names.add(`${node.name}()`);
		if (node.op === 'sum' || node.op === 'product') {
			visit(node.args[0], bound);
			visit(node.args[1], bound);
			visit(node.args[2], new Set([...bound, node.variable]));
			return;
		}
		for (const arg of node.args) visit(arg, bound);
	};
	visit(expression, new Set());
	return names;
}

/** Returns whether the expression contains the imaginary unit or a function of complex numbers. */
export function isComplex(node: Expression): boolean {
	if (node.op === 'constant') return node.name === 'i';
	if (node.op === 'number' || node.op === 'symbol') return false;
	if (node.op === 'call' && ['conjugate', 're', 'im', 'arg'].includes(node.name)) return true;
	return node.args.some(isComplex);
}
