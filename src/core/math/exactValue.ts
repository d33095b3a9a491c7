import type { Expression, ListOperation } from './expression.ts';
import * as Q from './rational.ts';

/**
 * Returns the exact rational value of an expression made of numbers and rational operations, or null if it contains
 * anything else (a root, a symbol). Throws `NumberTooLarge`, or `RangeError` on division by zero.
 */
export function exactValue(node: Expression): Q.Rational | null {
	switch (node.op) {
		case 'number':
			return node.value;
		case 'add':
		case 'multiply': {
			let result = node.op === 'add' ? Q.zero : Q.one;
			for (const arg of node.args) {
				const value = exactValue(arg);
				if (value === null) return null;
				result = node.op === 'add' ? Q.add(result, value) : Q.multiply(result, value);
			}
			return result;
		}
		case 'divide': {
			const a = exactValue(node.args[0]);
			const b = a === null ? null : exactValue(node.args[1]);
			return a === null || b === null ? null : Q.divide(a, b);
		}
		case 'power': {
			const exponent = exactValue(node.args[1]);
			const base = exponent === null || exponent.d !== 1n ? null : exactValue(node.args[0]);
			if (base === null || exponent === null) return null;
			if (base.n === 0n && exponent.n <= 0n) throw new RangeError('zero to the power of zero');
			return Q.power(base, exponent.n);
		}
		case 'call': {
			const value = ['factorial', 'abs', 'floor', 'ceil', 'conjugate', 're'].includes(node.name)
				? exactValue(node.args[0])
				: null;
			if (value === null) return null;
			if (node.name === 'conjugate' || node.name === 're') return value;
			if (node.name === 'abs') return Q.absolute(value);
			if (node.name === 'factorial') return factorial(value);
			const floor = value.n >= 0n || value.d === 1n ? value.n / value.d : value.n / value.d - 1n;
			return Q.rational(node.name === 'floor' || value.d === 1n ? floor : floor + 1n);
		}
		case 'binomial': {
			const n = exactValue(node.args[0]);
			const k = n === null ? null : exactValue(node.args[1]);
			return n === null || k === null ? null : binomial(n, k);
		}
		case 'mod': {
			const a = exactValue(node.args[0]);
			const m = a === null ? null : exactValue(node.args[1]);
			if (a === null || m === null || a.d !== 1n || m.d !== 1n || m.n <= 0n) return null;
			return Q.rational(((a.n % m.n) + m.n) % m.n);
		}
		case 'max':
		case 'min':
		case 'gcd':
		case 'lcm':
			return several(node.op, node.args);
		default:
			return null;
	}
}

/** Largest supported factorial; larger ones have too many digits. */
const largestFactorial = 1_500n;

export function factorial(value: Q.Rational): Q.Rational {
	if (value.d !== 1n || value.n < 0n) throw new RangeError('factorial of a non-integer');
	if (value.n > largestFactorial) throw new Q.NumberTooLarge('factorial too large');
	let result = 1n;
	for (let i = 2n; i <= value.n; i++) result *= i;
	return Q.rational(result);
}

export function binomial(n: Q.Rational, k: Q.Rational): Q.Rational {
	if (n.d !== 1n || k.d !== 1n || n.n < 0n) throw new RangeError('binomial of a non-integer');
	if (k.n < 0n || k.n > n.n) return Q.zero;
	const min = k.n < n.n - k.n ? k.n : n.n - k.n;
	if (min > largestFactorial || Q.bitLength(n.n) > 256) throw new Q.NumberTooLarge('binomial too large');
	let result = 1n;
	for (let i = 1n; i <= min; i++) result = (result * (n.n - min + i)) / i;
	return Q.rational(result);
}

function several(op: ListOperation, args: readonly Expression[]): Q.Rational | null {
	let result: Q.Rational | null = null;
	for (const arg of args) {
		const value = exactValue(arg);
		if (value === null) return null;
		if (result === null) result = value;
		else if (op === 'max' || op === 'min') {
			if (Q.compare(value, result) > 0 === (op === 'max')) result = value;
		} else {
			if (value.d !== 1n || result.d !== 1n) return null;
			const common = greatestCommonDivisor(value.n, result.n);
			result = Q.rational(op === 'gcd' ? common : common === 0n ? 0n : (value.n / common) * result.n);
		}
	}
	return result;
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
	let x = a < 0n ? -a : a;
	let y = b < 0n ? -b : b;
	while (y !== 0n) [x, y] = [y, x % y];
	return x;
}
