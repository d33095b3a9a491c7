import { hashText } from '../../base/random.ts';
import * as C from './complexNumber.ts';
import { exactValue } from './exactValue.ts';
import type { Expression, FunctionName, SeriesOperation } from './expression.ts';
import * as F from './fixedPoint.ts';
import { NumberTooLarge, type Rational } from './rational.ts';

export type Point = ReadonlyMap<string, Rational>;

/** Thrown when a comparison exceeds its step budget. */
export class TooMuchWork extends Error {}

/** Step budget of one comparison. A step takes a few microseconds; a logarithm or sine takes a few dozen. */
export class Budget {
	#left: number;

	constructor(steps = 20_000) {
		this.#left = steps;
	}

	spend(steps: number): void {
		this.#left -= steps;
		if (this.#left < 0) throw new TooMuchWork('the comparison exceeds its step budget');
	}
}

export interface Value {
	readonly value: C.Complex;
	/** Whether a function left its real domain during evaluation (root or logarithm of a negative number). */
	readonly leftReals: boolean;
}

/**
 * Evaluates an expression at a point. Returns null if the value is undefined (division by zero, factorial of a
 * fraction) or too large. Throws `TooMuchWork`.
 */
export function evaluate(expression: Expression, point: Point, budget: Budget): Value | null {
	const evaluation = new Evaluation(point, budget);
	try {
		const value = evaluation.of(expression);
		// A value that has lost its precision counts as unknown.
		return C.isCertain(value) ? { value, leftReals: evaluation.leftReals } : null;
	} catch (error) {
		if (error instanceof F.Undefined || error instanceof NumberTooLarge || error instanceof RangeError) return null;
		throw error;
	}
}

const maxTerms = 400;
/** 2^-160, the smallest difference resolved where a function jumps. */
const rounding = 1n << 96n;

/** Converts a rational number. Exact for binary fractions; rounded otherwise. */
function exactly(value: Rational): C.Complex {
	const scaled = F.checked(value.n << F.bits);
	return C.real(scaled / value.d, scaled % value.d === 0n ? 0n : 1n);
}

const pi = C.real(F.pi, 2n);
const halfPi = C.real(F.pi / 2n, 2n);

class Evaluation {
	leftReals = false;
	readonly #point: Map<string, C.Complex>;
	readonly #budget: Budget;

	constructor(point: Point, budget: Budget) {
		this.#point = new Map([...point].map(([name, value]) => [name, exactly(value)]));
		this.#budget = budget;
	}

	of(node: Expression): C.Complex {
		this.#budget.spend(1);
		switch (node.op) {
			case 'number':
				return exactly(node.value);
			case 'constant':
				if (node.name === 'pi') return pi;
				return node.name === 'e' ? C.exponential(C.one) : C.imaginaryUnit;
			case 'symbol': {
				const value = this.#point.get(node.name);
				if (value === undefined) throw new F.Undefined(`${node.name} has no value`);
				return value;
			}
			case 'add':
				return node.args.map((arg) => this.of(arg)).reduce(C.add, C.zero);
			case 'multiply':
				return node.args.map((arg) => this.of(arg)).reduce(C.multiply, C.one);
			case 'divide':
				return C.divide(this.of(node.args[0]), this.of(node.args[1]));
			case 'power':
				return this.#power(this.of(node.args[0]), node.args[1]);
			case 'root':
				return this.#root(this.of(node.args[0]), node.args[1]);
			case 'log': {
				const [value, base] = [this.of(node.args[0]), this.of(node.args[1])];
				return C.divide(this.#logarithm(value), this.#logarithm(base));
			}
			case 'call':
				return this.#call(node.name, this.of(node.args[0]));
			case 'binomial': {
				const [n, k] = [this.#whole(this.of(node.args[0])), this.#whole(this.of(node.args[1]))];
				return this.#exact({
					op: 'binomial',
					args: [
						{ op: 'number', value: n },
						{ op: 'number', value: k },
					],
				});
			}
			case 'mod': {
				const [a, m] = [this.#real(this.of(node.args[0])), this.#real(this.of(node.args[1]))];
				if (m.re <= 0n || a.error + m.error > rounding) throw new F.Undefined('modulus');
				return C.real((((a.re + a.error) % m.re) + m.re) % m.re, 2n * a.error);
			}
			case 'max':
			case 'min': {
				const values = node.args.map((arg) => this.#real(this.of(arg)));
				return values.reduce((a, b) => (a.re > b.re === (node.op === 'max') ? a : b));
			}
			case 'gcd':
			case 'lcm':
				return this.#exact({
					op: node.op,
					args: node.args.map((arg) => ({ op: 'number', value: this.#whole(this.of(arg)) }) as const),
				});
			case 'unknown':
				return this.#unknown(
					node.name,
					node.args.map((arg) => this.of(arg)),
				);
			case 'sum':
			case 'product':
				return this.#series(node);
		}
	}

	#exact(node: Expression): C.Complex {
		const value = exactValue(node);
		if (value === null) throw new F.Undefined(node.op);
		return exactly(value);
	}

	#real(value: C.Complex): C.Complex {
		if (value.im > value.error || value.im < -value.error) throw new F.Undefined('not real');
		return value.im === 0n ? value : C.real(value.re, value.error);
	}

	/** Returns a real number that is precise enough to be distinguished from the nearest integer. */
	#near(value: C.Complex): bigint {
		const { re, error } = this.#real(value);
		if (error > rounding) throw new F.Undefined('too uncertain');
		return re;
	}

	/** Returns an integer, snapping values that are off by rounding error. Throws `Undefined` for other values. */
	#whole(value: C.Complex): Rational {
		const { re, error } = this.#real(value);
		const rounded = (re + F.unit / 2n) >> F.bits;
		const off = re - (rounded << F.bits);
		if (error > rounding || off > error || off < -error) throw new F.Undefined('not an integer');
		return { n: rounded, d: 1n };
	}

	#logarithm(value: C.Complex): C.Complex {
		this.#budget.spend(10);
		if (value.im !== 0n || value.re < 0n) this.leftReals = true;
		return C.logarithm(value);
	}

	#squareRoot(value: C.Complex): C.Complex {
		this.#budget.spend(3);
		if (value.im !== 0n || value.re < 0n) this.leftReals = true;
		return C.squareRoot(value);
	}

	#power(base: C.Complex, node: Expression): C.Complex {
		const exponent = exactValue(node);
		if (exponent !== null) {
			const value = this.#rationalPower(base, exponent);
			if (value !== null) return value;
		}
		const value = this.of(node);
		const constant = node.op === 'symbol' || exponent === null ? this.#exponentAt(value) : null;
		if (constant !== null && (base.re <= 0n || base.im !== 0n)) {
			const result = this.#rationalPower(base, constant);
			if (result !== null) return result;
		}
		if (base.re === 0n && base.im === 0n) {
			if (value.re > 0n) return C.zero;
			throw new F.Undefined('power of zero');
		}
		this.#budget.spend(20);
		return C.exponential(C.multiply(value, this.#logarithm(base)));
	}

	/** Returns the exponent as an integer if it is one at this point. */
	#exponentAt(value: C.Complex): Rational | null {
		if (value.im !== 0n || value.error !== 0n) return null;
		return value.re % F.unit === 0n ? { n: value.re >> F.bits, d: 1n } : null;
	}

	/**
	 * Computes a power with an integer exponent, or the real root of a negative number if the denominator is odd (as
	 * taught in school). Returns null otherwise.
	 */
	#rationalPower(base: C.Complex, { n, d }: Rational): C.Complex | null {
		if (base.re === 0n && base.im === 0n && n <= 0n) throw new F.Undefined('power of zero');
		if (d === 1n && n <= 10_000n && n >= -10_000n) {
			this.#budget.spend(n.toString(2).length);
			return C.wholePower(base, n);
		}
		if (d === 2n && n <= 10_000n && n >= -10_000n) return C.wholePower(this.#squareRoot(base), n);
		if (base.im === 0n && base.re < 0n && d % 2n === 1n) {
			this.#budget.spend(20);
			const size = C.exponential(C.multiply(C.logarithm(C.negate(base)), exactly({ n, d })));
			return n % 2n === 0n ? size : C.negate(size);
		}
		return null;
	}

	#root(radicand: C.Complex, node: Expression): C.Complex {
		const index = exactValue(node);
		if (index !== null && index.n !== 0n) {
			const inverse = index.n < 0n ? { n: -index.d, d: -index.n } : { n: index.d, d: index.n };
			const value = this.#rationalPower(radicand, inverse);
			if (value !== null) return value;
		}
		if (radicand.re === 0n && radicand.im === 0n) return C.zero;
		this.#budget.spend(20);
		return C.exponential(C.divide(this.#logarithm(radicand), this.of(node)));
	}

	#call(name: FunctionName, a: C.Complex): C.Complex {
		switch (name) {
			case 'sqrt':
				return this.#squareRoot(a);
			case 'abs':
				return C.magnitude(a);
			case 'sign':
				if (C.isZero(a)) return C.zero;
				return C.real(this.#real(a).re > 0n ? F.unit : -F.unit);
			case 'conjugate':
				return { ...a, im: -a.im };
			case 're':
				return C.real(a.re, a.error);
			case 'im':
				return C.real(a.im, a.error);
			case 'arg':
				return C.argument(a);
			// Snap to the nearest integer when the difference is within rounding error.
			case 'floor':
				return C.real(((this.#near(a) + rounding) >> F.bits) << F.bits);
			case 'ceil':
				return C.real(-(((rounding - this.#near(a)) >> F.bits) << F.bits));
			case 'factorial':
				return this.#exact({
					op: 'call',
					name: 'factorial',
					args: [{ op: 'number', value: this.#whole(a) }],
				});
			case 'ln':
				return this.#logarithm(a);
		}
		this.#budget.spend(15);
		switch (name) {
			case 'exp':
				return C.exponential(a);
			case 'sin':
				return C.sineCosine(a).sine;
			case 'cos':
				return C.sineCosine(a).cosine;
			case 'tan':
				return this.#quotient(C.sineCosine(a), 'sine', 'cosine');
			case 'cot':
				return this.#quotient(C.sineCosine(a), 'cosine', 'sine');
			case 'sec':
				return this.#inverse(C.sineCosine(a).cosine);
			case 'csc':
				return this.#inverse(C.sineCosine(a).sine);
			case 'arcsin':
				return this.#arcsine(a);
			case 'arccos':
				return C.subtract(halfPi, this.#arcsine(a));
			case 'arctan':
				return C.arctangent(a);
			case 'arccot':
				return C.subtract(halfPi, C.arctangent(a));
			case 'arcsec':
				return C.subtract(halfPi, this.#arcsine(C.divide(C.one, a)));
			case 'arccsc':
				return this.#arcsine(C.divide(C.one, a));
			default:
				return this.#hyperbolic(name, a);
		}
	}

	/** Returns the inverse. The function has a pole where the denominator is zero within rounding error. */
	#inverse(a: C.Complex): C.Complex {
		if (C.isZero(a)) throw new F.Undefined('pole');
		return C.divide(C.one, a);
	}

	#quotient(
		parts: { sine: C.Complex; cosine: C.Complex },
		top: 'sine' | 'cosine',
		bottom: 'sine' | 'cosine',
	): C.Complex {
		return C.multiply(parts[top], this.#inverse(parts[bottom]));
	}

	#arcsine(a: C.Complex): C.Complex {
		if (a.im !== 0n || a.re > F.unit || a.re < -F.unit) this.leftReals = true;
		return C.arcsine(a);
	}

	#hyperbolic(name: FunctionName, a: C.Complex): C.Complex {
		const two = C.real(2n * F.unit);
		if (name === 'sinh' || name === 'cosh' || name === 'tanh') {
			const up = C.exponential(a);
			const down = C.exponential(C.negate(a));
			if (name === 'sinh') return C.divide(C.subtract(up, down), two);
			if (name === 'cosh') return C.divide(C.add(up, down), two);
			return C.divide(C.subtract(up, down), C.add(up, down));
		}
		const square = C.multiply(a, a);
		if (name === 'arsinh') return this.#logarithm(C.add(a, this.#squareRoot(C.add(square, C.one))));
		if (name === 'arcosh') {
			// √(a-1) √(a+1) gives the principal branch; √(a²-1) does not.
			const root = C.multiply(this.#squareRoot(C.subtract(a, C.one)), this.#squareRoot(C.add(a, C.one)));
			return this.#logarithm(C.add(a, root));
		}
		if (name === 'artanh') {
			return C.divide(this.#logarithm(C.divide(C.add(C.one, a), C.subtract(C.one, a))), two);
		}
		throw new F.Undefined(name);
	}

	/** Returns a number in [-2, 2] that depends on the name and on the arguments (to 48 digits). */
	#unknown(name: string, args: readonly C.Complex[]): C.Complex {
		if (args.some(({ error }) => error > rounding >> 8n)) throw new F.Undefined('too uncertain');
		const digits = args.map(({ re, im }) => `${(re + rounding / 2n) / rounding},${(im + rounding / 2n) / rounding}`);
		let bits = 0n;
		for (let i = 0; i < 5; i++) bits = (bits << 32n) | BigInt(hashText(`${name}(${digits.join(';')})`, i + 1));
		return C.real((bits << (F.bits - 158n)) - 2n * F.unit);
	}

	#series(node: Extract<Expression, { op: SeriesOperation }>): C.Complex {
		const from = this.#whole(this.of(node.args[0])).n;
		const to = this.#whole(this.of(node.args[1])).n;
		if (to - from >= BigInt(maxTerms)) throw new F.Undefined('too many terms');
		const before = this.#point.get(node.variable);
		let result = node.op === 'sum' ? C.zero : C.one;
		try {
			for (let k = from; k <= to; k++) {
				this.#point.set(node.variable, C.real(k << F.bits));
				const term = this.of(node.args[2]);
				result = node.op === 'sum' ? C.add(result, term) : C.multiply(result, term);
			}
		} finally {
			if (before === undefined) this.#point.delete(node.variable);
			else this.#point.set(node.variable, before);
		}
		return result;
	}
}
