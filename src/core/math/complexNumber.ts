import * as F from './fixedPoint.ts';

/**
 * A fixed-point complex number with an error bound: the true value is at most `error` away. Bounds are generous
 * (several units in the last place per operation), so values that differ by more than both bounds are certain to be
 * different; 256 bits leave room for that.
 */
export interface Complex {
	readonly re: bigint;
	readonly im: bigint;
	readonly error: bigint;
}

/** Maximum rounding error added by a single operation. */
const ulps = 8n;

export const real = (re: bigint, error = 0n): Complex => ({ re, im: 0n, error });
export const zero = real(0n);
export const one = real(F.unit);
export const imaginaryUnit: Complex = { re: 0n, im: F.unit, error: 0n };
const minusI: Complex = { re: 0n, im: -F.unit, error: 0n };

const size = (a: bigint): bigint => (a < 0n ? -a : a);
/** Returns an upper bound on the magnitude. */
export const above = (a: Complex): bigint => size(a.re) + size(a.im);
/** Returns a lower bound on the magnitude. */
const below = (a: Complex): bigint => (size(a.re) > size(a.im) ? size(a.re) : size(a.im));

/** Returns the rounding error of a large result: 2^-240 times its size. */
const relative = (a: bigint): bigint => size(a) >> (F.bits - 16n);

export const add = (a: Complex, b: Complex): Complex => ({
	re: F.checked(a.re + b.re),
	im: F.checked(a.im + b.im),
	error: a.error + b.error,
});
export const negate = (a: Complex): Complex => ({ re: -a.re, im: -a.im, error: a.error });
export const subtract = (a: Complex, b: Complex): Complex => add(a, negate(b));

export function multiply(a: Complex, b: Complex): Complex {
	const exact = a.error === 0n && b.error === 0n ? 0n : a.error * b.error + above(a) * b.error + above(b) * a.error;
	const error = (exact >> F.bits) + ulps;
	if (a.im === 0n && b.im === 0n) {
		const product = a.re * b.re;
		// Integers and short binary fractions multiply without rounding.
		return real(F.checked(product / F.unit), exact === 0n && product % F.unit === 0n ? 0n : error);
	}
	return {
		re: F.checked((a.re * b.re - a.im * b.im) / F.unit),
		im: F.checked((a.re * b.im + a.im * b.re) / F.unit),
		error,
	};
}

export function divide(a: Complex, b: Complex): Complex {
	const min = below(b) - b.error;
	if (min <= 0n) throw new F.Undefined('division by zero');
	let [re, im] = [a.re, a.im];
	if (b.im === 0n) [re, im] = [F.divide(re, b.re), im === 0n ? 0n : F.divide(im, b.re)];
	else {
		const norm = b.re * b.re + b.im * b.im;
		[re, im] = [
			F.checked(((a.re * b.re + a.im * b.im) << F.bits) / norm),
			F.checked(((a.im * b.re - a.re * b.im) << F.bits) / norm),
		];
	}
	const spread = a.error + (((size(re) + size(im)) * b.error) >> F.bits) + 1n;
	return { re, im, error: a.error === 0n && b.error === 0n ? ulps : (spread << F.bits) / min + ulps };
}

export function magnitude(a: Complex): Complex {
	if (a.im === 0n) return real(size(a.re), a.error);
	return real(F.integerRoot(a.re * a.re + a.im * a.im), a.error + ulps);
}

/** Removes an imaginary part that is within the error, because principal values jump at the real axis. */
function settled(a: Complex): Complex {
	return a.im !== 0n && size(a.im) <= a.error ? { ...a, im: 0n, error: 2n * a.error } : a;
}

/** Returns the argument, in (-π, π]. */
export function argument(given: Complex): Complex {
	const a = settled(given);
	if (a.im === 0n && a.re === 0n && a.error === 0n) return zero;
	const min = below(a) - a.error;
	if (min <= 0n) throw new F.Undefined('argument of zero');
	return real(F.arctangent2(a.im, a.re), a.im === 0n ? ulps : ((2n * a.error) << F.bits) / min + ulps);
}

export function exponential(a: Complex): Complex {
	if (a.error > F.unit >> 8n) throw new F.Undefined('too uncertain');
	const length = F.exponential(a.re);
	const error = ((3n * (length + 1n) * a.error) >> F.bits) + relative(length) + ulps;
	if (a.im === 0n) return real(length, error);
	const { sine, cosine } = F.sineCosine(a.im);
	return { re: F.multiply(length, cosine), im: F.multiply(length, sine), error: error + relative(a.im) };
}

/** Returns the principal value of the logarithm. */
export function logarithm(given: Complex): Complex {
	const a = settled(given);
	const min = below(a) - a.error;
	if (min <= 0n) throw new F.Undefined('logarithm of zero');
	const error = ((2n * a.error) << F.bits) / min + ulps;
	if (a.im === 0n && a.re > 0n) return real(F.logarithm(a.re), error);
	return { re: F.logarithm(magnitude(a).re), im: argument(a).re, error: 2n * error };
}

/** Returns the principal square root. */
export function squareRoot(given: Complex): Complex {
	const a = settled(given);
	if (above(a) <= 2n * a.error) return real(0n, F.integerRoot((4n * a.error) << F.bits) + ulps);
	const root = principalRoot(a);
	const error = a.error === 0n ? 0n : (a.error << F.bits) / (below(root) + 1n);
	// Perfect squares such as 9 have an exact root.
	const isExact = a.error === 0n && a.im === 0n && root.re * root.re + root.im * root.im === size(a.re) << F.bits;
	return { ...root, error: isExact ? 0n : error + ulps };
}

function principalRoot(a: Complex): Complex {
	if (a.im === 0n) {
		return a.re >= 0n ? real(F.squareRoot(a.re)) : { re: 0n, im: F.squareRoot(-a.re), error: 0n };
	}
	const length = magnitude(a).re;
	const re = F.squareRoot((length + size(a.re)) / 2n);
	// Compute the other part without cancellation.
	const other = F.divide(size(a.im), 2n * re);
	const [x, y] = a.re >= 0n ? [re, other] : [other, re];
	return { re: x, im: a.im < 0n ? -y : y, error: 0n };
}

/** Raises a number to an integer power of at most 10,000 by repeated squaring. */
export function wholePower(a: Complex, exponent: bigint): Complex {
	const times = exponent < 0n ? -exponent : exponent;
	if (times > 10_000n) throw new F.Undefined('exponent too large');
	let result = one;
	let square = a;
	for (let rest = times; rest > 0n; rest >>= 1n) {
		if (rest & 1n) result = multiply(result, square);
		if (rest > 1n) square = multiply(square, square);
	}
	return exponent < 0n ? divide(one, result) : result;
}

export function sineCosine(a: Complex): { readonly sine: Complex; readonly cosine: Complex } {
	if (a.error > F.unit >> 8n) throw new F.Undefined('too uncertain');
	const { sine, cosine } = F.sineCosine(a.re);
	const turned = a.error + relative(a.re) + ulps;
	if (a.im === 0n) return { sine: real(sine, turned), cosine: real(cosine, turned) };
	const up = F.exponential(a.im);
	const down = F.exponential(-a.im);
	const cosh = (up + down) / 2n;
	const sinh = (up - down) / 2n;
	const error = ((4n * (cosh + F.unit) * turned) >> F.bits) + relative(cosh) + ulps;
	return {
		sine: { re: F.multiply(sine, cosh), im: F.multiply(cosine, sinh), error },
		cosine: { re: F.multiply(cosine, cosh), im: -F.multiply(sine, sinh), error },
	};
}

/** Computes -i ln(iz + √(1 - z²)). */
export function arcsine(a: Complex): Complex {
	const root = squareRoot(subtract(one, multiply(a, a)));
	if (a.im === 0n && root.im === 0n) return real(F.arctangent2(a.re, root.re), 2n * (a.error + root.error) + ulps);
	return multiply(minusI, logarithm(add(multiply(imaginaryUnit, a), root)));
}

/** Computes i/2 (ln(1 - iz) - ln(1 + iz)). */
export function arctangent(a: Complex): Complex {
	if (a.im === 0n) return real(F.arctangent(a.re), a.error + 64n);
	const turned = multiply(imaginaryUnit, a);
	const difference = subtract(logarithm(subtract(one, turned)), logarithm(add(one, turned)));
	return multiply({ re: 0n, im: F.unit / 2n, error: 0n }, difference);
}

/** Returns whether a value is precise enough to compare: to 100 bits relative to its size, or to 2^-156. */
export function isCertain(a: Complex): boolean {
	return a.error <= above(a) >> 100n || a.error <= 1n << 100n;
}

/**
 * Returns whether two values could be equal. Values that are precise enough and could be equal are treated as equal.
 */
export function agree(a: Complex, b: Complex): boolean {
	return above(subtract(a, b)) <= 2n * (a.error + b.error) + 2n * ulps;
}

export const isZero = (a: Complex): boolean => above(a) <= 2n * a.error + ulps;
