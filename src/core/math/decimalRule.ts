import * as Q from './rational.ts';

/** Fewer significant digits do not stand for an exact value: 0.33 is not 1/3, 3.14 is not π. */
export const leastDigits = 6;
/** Decimals this long are what a program prints of a floating-point number, whose last digits are noise. */
const floatDigits = 12;

/** 10^-10. */
const floatTolerance = Q.rational(1n, 10_000_000_000n);

/**
 * Whether a decimal with `digits` significant digits stands for a value that lies between `low` and `high` (equal bounds
 * for an exact rational). It does when it is that value rounded to the digits written, and at least six of them are
 * written; the last digit may be cut instead of rounded when there are at least eight. A value that needs no more digits
 * than are written must be met exactly.
 *
 * math-verify rounds both sides to six places after the point, Qwen2.5-Math allows 10^-4 of the value; this is the
 * stricter reading of the two.
 */
export function decimalStandsFor(decimal: Q.Rational, digits: number, low: Q.Rational, high: Q.Rational): boolean {
	if (Q.equal(low, high) && Q.equal(decimal, low)) return true;
	if (decimal.n === 0n) return false;
	if (digits >= floatDigits && within(decimal, low, high, Q.multiply(Q.absolute(decimal), floatTolerance))) return true;
	if (digits < leastDigits) return false;
	const place = lastPlace(decimal, digits);
	if (Q.equal(low, high) && Q.divide(low, place).d === 1n) return false;
	const allowed =
		digits >= leastDigits + 2 ? Q.multiply(place, Q.rational(999n, 1000n)) : Q.divide(place, Q.rational(2n));
	return within(decimal, low, high, allowed);
}

function within(value: Q.Rational, low: Q.Rational, high: Q.Rational, allowed: Q.Rational): boolean {
	return (
		Q.compare(Q.absolute(Q.subtract(value, low)), allowed) <= 0 &&
		Q.compare(Q.absolute(Q.subtract(value, high)), allowed) <= 0
	);
}

/** Value of one unit in the last of the significant digits. */
function lastPlace(value: Q.Rational, digits: number): Q.Rational {
	const { n, d } = Q.absolute(value);
	// 10^exponent <= value < 10^(exponent + 1).
	let exponent = n.toString().length - d.toString().length;
	const ten = Q.rational(10n);
	if (Q.compare(Q.power(ten, BigInt(exponent)), { n, d }) > 0) exponent--;
	return Q.power(ten, BigInt(exponent - digits + 1));
}
