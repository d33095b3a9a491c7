import * as Q from './rational.ts';

/** Minimum number of significant digits for a decimal to count as exact: 0.33 is not 1/3, and 3.14 is not π. */
export const minDigits = 6;
/** Decimals with this many digits look like printed floating-point numbers, whose last digits are noise. */
const floatDigits = 12;

/** 10^-10. */
const floatTolerance = Q.rational(1n, 10_000_000_000n);

/**
 * Returns whether a decimal with `digits` significant digits can represent a value in [`low`, `high`] (equal bounds for
 * an exact rational). This is the case if the decimal is the value rounded to that many digits and has at least six of
 * them. With at least eight digits, the last one can be truncated instead of rounded. A value that needs no more digits
 * than are given must match exactly.
 *
 * math-verify rounds both sides to six decimal places, and Qwen2.5-Math allows a relative error of 10^-4; this rule is
 * the stricter of the two.
 */
export function decimalStandsFor(decimal: Q.Rational, digits: number, low: Q.Rational, high: Q.Rational): boolean {
	if (Q.equal(low, high) && Q.equal(decimal, low)) return true;
	if (decimal.n === 0n) return false;
	if (digits >= floatDigits && within(decimal, low, high, Q.multiply(Q.absolute(decimal), floatTolerance))) return true;
	if (digits < minDigits) return false;
	const place = lastPlace(decimal, digits);
	if (Q.equal(low, high) && Q.divide(low, place).d === 1n) return false;
	const allowed =
		digits >= minDigits + 2 ? Q.multiply(place, Q.rational(999n, 1000n)) : Q.divide(place, Q.rational(2n));
	return within(decimal, low, high, allowed);
}

function within(value: Q.Rational, low: Q.Rational, high: Q.Rational, allowed: Q.Rational): boolean {
	return (
		Q.compare(Q.absolute(Q.subtract(value, low)), allowed) <= 0 &&
		Q.compare(Q.absolute(Q.subtract(value, high)), allowed) <= 0
	);
}

/** Returns the value of one unit in the last significant digit. */
function lastPlace(value: Q.Rational, digits: number): Q.Rational {
	const { n, d } = Q.absolute(value);
	// 10^exponent <= value < 10^(exponent + 1).
	let exponent = n.toString().length - d.toString().length;
	const ten = Q.rational(10n);
	if (Q.compare(Q.power(ten, BigInt(exponent)), { n, d }) > 0) exponent--;
	return Q.power(ten, BigInt(exponent - digits + 1));
}
