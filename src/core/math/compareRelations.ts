import { Random } from '../../base/random.ts';
import type { Relation } from './answer.ts';
import { expressionsEqual, randomPoint } from './compareExpressions.ts';
import * as C from './complexNumber.ts';
import { type Budget, evaluate } from './evaluate.ts';
import { type Expression, freeSymbols } from './expression.ts';
import * as Q from './rational.ts';
import { negated } from './readExpression.ts';

/**
 * Returns whether two relations are equivalent. For equations, the differences between the sides must be equal up to a
 * constant factor, or both must have the same root in a letter in which they are linear. For inequalities, the factor
 * must be positive (a negative one flips the sign). Chains are compared part by part, in either direction.
 */
export function relationsAgree(gold: Relation, answer: Relation, budget: Budget): boolean {
	if (gold.sides.length !== answer.sides.length) return false;
	if (gold.sides.length > 2) {
		const reversed: Relation = {
			kind: 'relation',
			sides: answer.sides.toReversed(),
			comparisons: answer.comparisons.toReversed().map((one) => flips[one]),
		};
		return [answer, reversed].some(
			(other) =>
				gold.comparisons.every((one, i) => one === other.comparisons[i]) &&
				gold.sides.every((side, i) => expressionsEqual(side, other.sides[i] as Expression, budget)),
		);
	}
	const [a, b] = [gold.comparisons[0] as keyof typeof flips, answer.comparisons[0] as keyof typeof flips];
	const [first, second] = [differenceOf(gold), differenceOf(answer)];
	const sign = proportion(first, second, budget);
	if (sign === 'positive') return a === b;
	if (sign === 'negative') return a === flips[b];
	if (sign === 'complex') return a === '=' && b === '=';
	return a === '=' && b === '=' && sameRoot(first, second, budget);
}

const flips = { '<': '>', '>': '<', '≤': '≥', '≥': '≤', '=': '=', '≠': '≠' } as const;

const differenceOf = ({ sides }: Relation): Expression => ({
	op: 'add',
	args: [sides[0] as Expression, negated(sides[1] as Expression)],
});

/** Tests at random points whether a = c b for a nonzero constant c. Returns the sign of c, or null if there is none. */
function proportion(a: Expression, b: Expression, budget: Budget): 'positive' | 'negative' | 'complex' | null {
	const names = new Set([...freeSymbols(a), ...freeSymbols(b)]);
	const symbols = new Set([...names].filter((name) => !name.endsWith('()')));
	if (names.size === 0 || symbols.size > 24) return null;
	// Without letters to vary, as in f(2) > 3, the differences can only be compared directly.
	if (symbols.size === 0) {
		if (expressionsEqual(a, b, budget)) return 'positive';
		return expressionsEqual(a, negated(b), budget) ? 'negative' : null;
	}
	const random = Random.of('relation', [...symbols].sort().join(' '));
	let factor: C.Complex | null = null;
	let counted = 0;
	for (let i = 0; i < 24 && counted < 6; i++) {
		const point = randomPoint(symbols, i % 2 === 0 ? 'positive' : 'real', random);
		const [first, second] = [evaluate(a, point, budget), evaluate(b, point, budget)];
		if (first === null || second === null || first.leftReals || second.leftReals) continue;
		if (C.isZero(first.value) || C.isZero(second.value)) return null;
		factor ??= C.divide(first.value, second.value);
		if (!C.agree(first.value, C.multiply(second.value, factor))) return null;
		counted++;
	}
	if (factor === null || counted < 4) return null;
	if (factor.im > factor.error || factor.im < -factor.error) return 'complex';
	return factor.re > 0n ? 'positive' : 'negative';
}

/**
 * Returns whether two equations have the same solutions for a letter in which both are linear, with a coefficient that
 * is a product of powers of the other letters. The roots must match at random values of the other letters; where one of
 * them is 0, both equations must have no solution or both must hold for all values (`xy = 3` is `y = 3/x`, but `xy =
 * 2x` is not `y = 2`).
 */
function sameRoot(a: Expression, b: Expression, budget: Budget): boolean {
	const [inA, inB] = [freeSymbols(a), freeSymbols(b)];
	const symbols = [...inA].filter((name) => inB.has(name));
	if (symbols.length < 2 || inA.size !== inB.size || symbols.length !== inA.size || symbols.length > 6) return false;
	if (symbols.some((name) => name.endsWith('()'))) return false;
	const random = Random.of('root', symbols.sort().join(' '));
	for (const letter of symbols) {
		const others = symbols.filter((name) => name !== letter);
		let agreed = 0;
		let fits = true;
		for (let i = 0; i < 12 && fits; i++) {
			const point = new Map(randomPoint(others, i % 2 === 0 ? 'positive' : 'real', random));
			if (i >= 8) for (const name of others) point.set(name, Q.rational(BigInt((i % 4) - 1)));
			const [first, second] = [rootOf(a, letter, point, budget), rootOf(b, letter, point, budget)];
			// At these special points, one side can be undefined where the other has no solution.
			if (i >= 8 && [first, second].every((one) => one === 'none' || one === 'undefined')) continue;
			if (first === 'undefined' && second === 'undefined') continue;
			if (typeof first === 'string' || typeof second === 'string') fits = i >= 8 && first === second;
			else {
				fits = C.agree(first, second);
				if (i < 8) agreed++;
			}
		}
		if (fits && agreed >= 4 && [a, b].every((node) => isMonomial(node, letter, others, budget))) return true;
	}
	return false;
}

/**
 * Returns whether the coefficient of a letter is a constant times powers of the other letters, so that doubling any of
 * them always scales it by the same factor.
 */
function isMonomial(node: Expression, letter: string, others: readonly string[], budget: Budget): boolean {
	const random = Random.of('monomial', letter);
	const slope = (point: ReadonlyMap<string, Q.Rational>): C.Complex | null => {
		const [first, second] = [2n, 3n].map((value) =>
			evaluate(node, new Map(point).set(letter, Q.rational(value)), budget),
		);
		return first == null || second == null ? null : C.subtract(second.value, first.value);
	};
	for (const other of others) {
		const ratios: C.Complex[] = [];
		for (let i = 0; i < 2; i++) {
			const point = randomPoint(others, 'positive', random);
			const value = point.get(other) as Q.Rational;
			const [before, after] = [slope(point), slope(new Map(point).set(other, Q.multiply(value, Q.rational(2n))))];
			if (before === null || after === null || C.isZero(before)) return false;
			ratios.push(C.divide(after, before));
		}
		const [first, second] = ratios as [C.Complex, C.Complex];
		if (!C.agree(first, second)) return false;
	}
	return true;
}

/** Returns the root of an expression that is linear in a letter. */
function rootOf(
	node: Expression,
	letter: string,
	point: ReadonlyMap<string, Q.Rational>,
	budget: Budget,
): C.Complex | 'none' | 'all' | 'undefined' | 'curved' {
	const at = (value: bigint): C.Complex | null => {
		const result = evaluate(node, new Map(point).set(letter, Q.rational(value)), budget);
		return result === null || result.leftReals ? null : result.value;
	};
	const [first, second, third] = [at(2n), at(3n), at(5n)];
	if (first === null || second === null || third === null) return 'undefined';
	const slope = C.subtract(second, first);
	if (!C.agree(C.subtract(third, second), C.add(slope, slope))) return 'curved';
	const offset = C.subtract(first, C.add(slope, slope));
	if (C.isZero(slope)) return C.isZero(offset) ? 'all' : 'none';
	return C.divide(C.negate(offset), slope);
}
