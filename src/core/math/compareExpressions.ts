import { Random } from '../../base/random.ts';
import * as C from './complexNumber.ts';
import { type Budget, evaluate, type Point } from './evaluate.ts';
import { type Expression, freeSymbols, isComplex } from './expression.ts';
import { type Rational, rational } from './rational.ts';

type Domain = 'positive' | 'real' | 'small' | 'whole';

/** Seeded points; each symbol another number. Dyadic, so that polynomials are evaluated without rounding. */
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

/** Whether a function occurs that jumps at whole numbers, which random points never hit. */
function hasSteps(node: Expression): boolean {
	if (node.op === 'number' || node.op === 'constant' || node.op === 'symbol') return false;
	if (node.op === 'mod' || (node.op === 'call' && ['floor', 'ceil', 'sign'].includes(node.name))) return true;
	return node.args.some(hasSteps);
}

/** Points that must agree, and tries to find them, in each domain. */
const wanted = 3;
const tries = 9;

/**
 * Whether two expressions are the same number or the same function of their symbols, decided by evaluation to 77 digits:
 * constants once, functions at seeded random points (Schwartz 1980: a polynomial of degree d that is not zero is zero at a
 * random point out of S with a probability of at most d/|S|; here |S| is 2^20 a symbol, and several points must agree).
 *
 * Points are real. Where a root or logarithm leaves the real numbers on a side, the point does not count: `√(ab)` is
 * `√a √b` where both are defined. |x| and x differ at a negative point. If no real point counts (or `i` occurs), principal
 * complex values are compared; if the functions are defined at whole numbers alone, those are taken.
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
	// Of 13 whole numbers each, but exact; where nothing else is defined (factorials).
	const whole = check('whole', false);
	if (whole === 'differ') return false;
	if (counted >= wanted) return true;
	return check('positive', true) === 'agree';
}
