/** An exact rational in lowest terms, with `d` > 0. */
export interface Rational {
	readonly n: bigint;
	readonly d: bigint;
}

/** Maximum number of bits in a numerator or denominator: about 5,000 decimal digits. */
export const maxBits = 16_384;

/** Thrown when a number exceeds the size limits. */
export class NumberTooLarge extends Error {}

export function bitLength(value: bigint): number {
	return (value < 0n ? -value : value).toString(16).length * 4;
}

function gcd(a: bigint, b: bigint): bigint {
	let x = a < 0n ? -a : a;
	let y = b;
	while (y !== 0n) [x, y] = [y, x % y];
	return x;
}

/** Creates a rational. Throws `NumberTooLarge` if it exceeds the limit, or `RangeError` if the denominator is zero. */
export function rational(n: bigint, d = 1n): Rational {
	if (d === 0n) throw new RangeError('division by zero');
	if (d === 1n) {
		if (bitLength(n) > maxBits) throw new NumberTooLarge('too many digits');
		return { n, d };
	}
	if (bitLength(n) > maxBits || bitLength(d) > maxBits) throw new NumberTooLarge('too many digits');
	const sign = d < 0n ? -1n : 1n;
	const divisor = gcd(n, d * sign) * sign;
	return { n: n / divisor, d: d / divisor };
}

export const zero: Rational = { n: 0n, d: 1n };
export const one: Rational = { n: 1n, d: 1n };

export const add = (a: Rational, b: Rational): Rational => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const negate = (a: Rational): Rational => ({ n: -a.n, d: a.d });
export const subtract = (a: Rational, b: Rational): Rational => add(a, negate(b));
export const multiply = (a: Rational, b: Rational): Rational => rational(a.n * b.n, a.d * b.d);
export const divide = (a: Rational, b: Rational): Rational => rational(a.n * b.d, a.d * b.n);
export const equal = (a: Rational, b: Rational): boolean => a.n === b.n && a.d === b.d;
export const absolute = (a: Rational): Rational => (a.n < 0n ? negate(a) : a);
/** Returns the sign of a - b. */
export const compare = (a: Rational, b: Rational): number => {
	const difference = a.n * b.d - b.n * a.d;
	return difference < 0n ? -1 : difference > 0n ? 1 : 0;
};

/** Raises a rational to an integer power. Throws `NumberTooLarge` before computing a power with too many digits. */
export function power(base: Rational, exponent: bigint): Rational {
	if (exponent === 0n) return one;
	const magnitude = exponent < 0n ? -exponent : exponent;
	if (base.d === 1n && (base.n === 1n || base.n === 0n || base.n === -1n)) {
		if (base.n === 0n && exponent < 0n) throw new RangeError('division by zero');
		return base.n === -1n && magnitude % 2n === 0n ? one : base;
	}
	const bits = BigInt(Math.max(bitLength(base.n), bitLength(base.d)));
	if (magnitude * (bits > 4n ? bits - 4n : 1n) > BigInt(maxBits)) throw new NumberTooLarge('power too large');
	const n = base.n ** magnitude;
	const d = base.d ** magnitude;
	return exponent > 0n ? rational(n, d) : rational(d, n);
}

/** Maximum number of digits that a decimal exponent can add. */
const maxShift = 4_000;

/**
 * Parses `12`, `-0.5`, `.5`, or `1.5e-3`. Returns null for anything else. Throws `NumberTooLarge` if it has too many
 * digits.
 */
export function parseDecimal(text: string): Rational | null {
	const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,9}))?$/.exec(text);
	if (match === null) return null;
	const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
	if (whole === '' && fraction === '') return null;
	const shift = Number(exponent) - fraction.length;
	if (whole.length + fraction.length > maxShift || Math.abs(shift) > maxShift) {
		throw new NumberTooLarge('too many digits');
	}
	const digits = BigInt(`${whole}${fraction}`) * (sign === '-' ? -1n : 1n);
	return shift >= 0 ? rational(digits * 10n ** BigInt(shift)) : rational(digits, 10n ** BigInt(-shift));
}

/** Formats a short decimal or fraction for display in reasons. */
export function rationalText(value: Rational): string {
	const text = value.d === 1n ? `${value.n}` : `${value.n}/${value.d}`;
	return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
