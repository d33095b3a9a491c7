import { Random } from '../../base/random.ts';
import * as C from './complexNumber.ts';
import { type Budget, evaluate, type Point } from './evaluate.ts';
import { type Expression, freeSymbols, isComplex } from './expression.ts';
import { type Rational, rational } from './rational.ts';

type Domain = 'positive' | 'real' | 'small' | 'whole';

/**
 * Returns a seeded random point with a different number for each symbol. The numbers are dyadic, so polynomials
 * evaluate without rounding.
 */
export function randomPoint(symbols: Iterable<string>, domain: Domain, random: Random): Point {
	const point = new Map<string, Rational>();
	for (const symbol of symbols) {
		const fine = BigInt(random.between(1, (1 << 20) - 1));
		const whole = BigInt(random.between(domain === 'whole' ? 2 : 0, domain === 'whole' ? 14 : 5));
		if (domain === 'whole') point.set(symbol, rational(whole));
		else if (domain === 'small') point.set(symbol, rational(fine, 1n << 20n));
		else {
			const value = rational((whole << 20n) + fine, 1n << 20n);
			const sign = domain === 'real' && random.int(2) === 1 ? -1n : 1n;
			point.set(symbol, { n: value.n * sign, d: value.d });
		}
	}
	return point;
}

/** Returns whether an expression contains a function that jumps at integers, which random points never hit. */
function hasSteps(node: Expression): boolean {
	if (node.op === 'number' || node.op === 'constant' || node.op === 'symbol') return false;
	if (node.op === 'mod' || (node.op === 'call' && ['floor', 'ceil', 'sign'].includes(node.name))) return true;
	return node.args.some(hasSteps);
}

/** Number of points that must agree in each domain, and the maximum number of attempts to find them. */
const wanted = 3;
const tries = 9;

/**
 * Returns whether two expressions are the same number or the same function of their symbols, by evaluating them to 77
 * digits: constants once, functions at seeded random points (Schwartz 1980: a nonzero polynomial of degree d is zero at
 * a random point from S with a probability of at most d/|S|; here, |S| is 2^20 per symbol, and several points must
 * agree).
 *
 * Points are real. A point is skipped if a root or logarithm on either side leaves the real numbers: `√(ab)` equals `√a
 * √b` where both are defined. |x| and x differ at a negative point. If no real point is valid (or `i` occurs),
 * principal complex values are compared; if the functions are defined only at integers, integers are used.
 */
export function expressionsEqual(a: Expression, b: Expression, budget: Budget): boolean {
	const symbols = new Set([...freeSymbols(a), ...freeSymbols(b)].filter((name) => !name.endsWith('()')));
	if (symbols.size === 0) {
		const [first, second] = [evaluate(a, new Map(), budget), evaluate(b, new Map(), budget)];
		return first !== null && second !== null && C.agree(first.value, second.value);
	}
	if (symbols.size > 24) return false;
	const random = Random.of('math', [...symbols].sort().join(' '));
	const complex = isComplex(a) || isComplex(b);
	let counted = 0;
	const check = (domain: Domain, allowComplex: boolean): 'differ' | 'agree' | 'none' => {
		let agreed = 0;
		for (let i = 0; i < tries && agreed < wanted; i++) {
			const point = randomPoint(symbols, domain, random);
			const first = evaluate(a, point, budget);
			const second = evaluate(b, point, budget);
			if (first === null || second === null) continue;
			if (!allowComplex && (first.leftReals || second.leftReals)) continue;
			if (!C.agree(first.value, second.value)) return 'differ';
			agreed++;
		}
		counted += agreed;
		return agreed > 1 ? 'agree' : 'none';
	};
	for (const domain of ['positive', 'small', 'real'] as const) {
		if (check(domain, complex && domain !== 'real') === 'differ') return false;
	}
	if (counted >= wanted && !(hasSteps(a) || hasSteps(b))) return true;
	// Samples only 13 integers per symbol, but evaluates exactly. Used where nothing else is defined (factorials).
	const whole = check('whole', false);
	if (whole === 'differ') return false;
	if (counted >= wanted) return true;
	return check('positive', true) === 'agree';
}
