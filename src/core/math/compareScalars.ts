import type { Answer, Scalar } from './answer.ts';
import { expressionsEqual } from './compareExpressions.ts';
import { decimalStandsFor, minDigits } from './decimalRule.ts';
import { type Budget, evaluate } from './evaluate.ts';
import { type Expression, freeSymbols } from './expression.ts';
import * as F from './fixedPoint.ts';
import * as Q from './rational.ts';
import { realValue } from './region.ts';
import { conversion } from './units.ts';

const hundred = Q.rational(100n);

/** Returns a side multiplied by a factor that accounts for its percent sign or unit. */
function scaled(side: Scalar, factor: Q.Rational): Scalar {
	if (Q.equal(factor, Q.one)) return side;
	const expression: Expression = { op: 'multiply', args: [{ op: 'number', value: factor }, side.expression] };
	let exact: Q.Rational | null = null;
	try {
		exact = side.exact === null ? null : Q.multiply(side.exact, factor);
	} catch {
		// Too many digits: left to evaluation.
	}
	return { ...side, expression, exact };
}

export function scalarsAgree(gold: Scalar, answer: Scalar, budget: Budget): boolean {
	if (isOnlyNear(gold, answer)) return false;
	if (sameText(gold, answer)) return true;
	const factors = conversion(gold.unit, answer.unit);
	if (factors === null) return angleAgrees(gold, answer, budget);
	if (
		(gold.unit?.dimension === 'angle') !== (answer.unit?.dimension === 'angle') &&
		angleAgrees(gold, answer, budget)
	) {
		return true;
	}
	const [a, b] = [scaled(gold, factors.a), scaled(answer, factors.b)];
	if (gold.percent === answer.percent) return plainAgree(a, b, budget) || letterUnitAgrees(gold, answer);
	// 50% is 0.5. If the gold answer is a percentage, the percent sign can be omitted, like a unit.
	if (gold.percent && plainAgree(a, b, budget)) return true;
	const hundredth = Q.divide(Q.one, hundred);
	return plainAgree(gold.percent ? scaled(a, hundredth) : a, answer.percent ? scaled(b, hundredth) : b, budget);
}

function sameText(gold: Scalar, answer: Scalar): boolean {
	const text = gold.source.replace(/\s/g, '');
	return (
		text !== '' &&
		text === answer.source.replace(/\s/g, '') &&
		gold.percent === answer.percent &&
		gold.unit?.dimension === answer.unit?.dimension
	);
}

/** Returns whether an answer such as `\approx 5` is only an approximation, without enough digits to count as exact. */
function isOnlyNear(gold: Scalar, answer: Scalar): boolean {
	if (!answer.approximate || gold.approximate || gold.digits !== null) return false;
	return answer.digits === null || answer.digits < minDigits;
}

/** Returns whether an angle in degrees equals an angle in radians: 60° is π/3. */
function angleAgrees(gold: Scalar, answer: Scalar, budget: Budget): boolean {
	const isRadian = (side: Scalar) => side.unit === null || side.unit.dimension === 'angle:radian';
	const degrees = gold.unit?.dimension === 'angle' ? gold : answer;
	const radians = degrees === gold ? answer : gold;
	if (degrees.unit?.dimension !== 'angle' || !isRadian(radians) || radians.exact !== null) return false;
	const expression: Expression = {
		op: 'divide',
		args: [
			{ op: 'multiply', args: [degrees.expression, { op: 'constant', name: 'pi' }] },
			{ op: 'number', value: Q.rational(180n) },
		],
	};
	return plainAgree({ ...degrees, expression, exact: null }, radians, budget);
}

/** Returns whether `5m`, parsed as a product, matches `5 \text{ m}`. */
function letterUnitAgrees(gold: Scalar, answer: Scalar): boolean {
	if ((gold.unit === null) === (answer.unit === null)) return false;
	const bare = (side: Scalar) => side.source.replace(/\\text ?\{([^{}]*)\}/g, '$1').replace(/[\s{}\\]/g, '');
	return bare(gold) === bare(answer);
}

function plainAgree(a: Scalar, b: Scalar, budget: Budget): boolean {
	if (a.exact !== null && b.exact !== null) {
		if (Q.equal(a.exact, b.exact)) return true;
		if (a.digits !== null && decimalFits(a, b.exact, b)) return true;
		return b.digits !== null && decimalFits(b, a.exact, a);
	}
	if (a.digits !== null || b.digits !== null) {
		const [decimal, other] = a.digits !== null ? [a, b] : [b, a];
		if (decimal.exact === null || decimal.digits === null) return false;
		const bounds = valueBounds(other.expression, budget);
		return bounds !== null && decimalStandsFor(decimal.exact, decimal.digits, bounds[0], bounds[1]);
	}
	return expressionsEqual(a.expression, b.expression, budget);
}

/** Returns whether a decimal matches a value. Two decimals must be equal except for floating-point noise. */
function decimalFits(decimal: Scalar, value: Q.Rational, other: Scalar): boolean {
	if (decimal.exact === null || decimal.digits === null) return false;
	if (other.digits !== null && decimal.digits < 12) return false;
	return decimalStandsFor(decimal.exact, decimal.digits, value, value);
}

/** Returns a rational interval around the real value of a constant. */
function valueBounds(expression: Expression, budget: Budget): [Q.Rational, Q.Rational] | null {
	if (freeSymbols(expression).size > 0) return null;
	const value = evaluate(expression, new Map(), budget)?.value;
	if (value === undefined || value.im > value.error || value.im < -value.error) return null;
	// Drop 64 bits to keep the bounds short.
	const at = (scaled: bigint): Q.Rational => Q.rational(scaled >> 64n, 1n << (F.bits - 64n));
	return [at(value.re - value.error), at(value.re + value.error)];
}

/** Returns whether a rounded value is within 2% of the exact one. */
export function nearlyTheSame(exact: Answer, rounded: Answer): boolean {
	if (exact.kind === 'named') return nearlyTheSame(exact.value, rounded);
	if (rounded.kind === 'named') return nearlyTheSame(exact, rounded.value);
	if (exact.kind !== 'scalar' || rounded.kind !== 'scalar') return false;
	const magnitudeOf = ({ expression, percent, unit }: Scalar): bigint | null => {
		const value = realValue(expression);
		if (value === null) return null;
		if (unit?.dimension === 'angle' && exact.unit === null) return (value * F.pi) / (180n * F.unit);
		return percent ? value / 100n : value;
	};
	const [a, b] = [magnitudeOf(exact), magnitudeOf(rounded)];
	if (a === null || b === null) return false;
	const difference = a > b ? a - b : b - a;
	return difference * 50n <= (a < 0n ? -a : a);
}
