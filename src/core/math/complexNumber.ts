import * as F from './fixedPoint.ts';

/** Parts in fixed point. */
export interface Complex {
	readonly re: bigint;
	readonly im: bigint;
}

export const real = (re: bigint): Complex => ({ re, im: 0n });
export const zero = real(0n);
export const one = real(F.unit);

export const add = (a: Complex, b: Complex): Complex => ({ re: F.checked(a.re + b.re), im: F.checked(a.im + b.im) });
export const negate = (a: Complex): Complex => ({ re: -a.re, im: -a.im });
export const subtract = (a: Complex, b: Complex): Complex => add(a, negate(b));

export function multiply(a: Complex, b: Complex): Complex {
	if (a.im === 0n && b.im === 0n) return real(F.multiply(a.re, b.re));
	return {
		re: F.multiply(a.re, b.re) - F.multiply(a.im, b.im),
		im: F.multiply(a.re, b.im) + F.multiply(a.im, b.re),
	};
}

export function divide(a: Complex, b: Complex): Complex {
	if (b.im === 0n) return { re: F.divide(a.re, b.re), im: a.im === 0n ? 0n : F.divide(a.im, b.re) };
	const norm = F.multiply(b.re, b.re) + F.multiply(b.im, b.im);
	return {
		re: F.divide(F.multiply(a.re, b.re) + F.multiply(a.im, b.im), norm),
		im: F.divide(F.multiply(a.im, b.re) - F.multiply(a.re, b.im), norm),
	};
}

export function magnitude(a: Complex): bigint {
	if (a.im === 0n) return a.re < 0n ? -a.re : a.re;
	return F.squareRoot(F.multiply(a.re, a.re) + F.multiply(a.im, a.im));
}

export const argument = (a: Complex): bigint => F.arctangent2(a.im, a.re);

export function exponential(a: Complex): Complex {
	const size = F.exponential(a.re);
	if (a.im === 0n) return real(size);
	const { sine, cosine } = F.sineCosine(a.im);
	return { re: F.multiply(size, cosine), im: F.multiply(size, sine) };
}

/** Principal value. */
export function logarithm(a: Complex): Complex {
	if (a.im === 0n && a.re > 0n) return real(F.logarithm(a.re));
	return { re: F.logarithm(magnitude(a)), im: argument(a) };
}

/** Principal value. */
export function squareRoot(a: Complex): Complex {
	if (a.im === 0n) return a.re >= 0n ? real(F.squareRoot(a.re)) : { re: 0n, im: F.squareRoot(-a.re) };
	const size = magnitude(a);
	const re = F.squareRoot((size + a.re) / 2n);
	const im = F.squareRoot((size - a.re) / 2n);
	return { re, im: a.im < 0n ? -im : im };
}

/** By squaring; at most 10,000. */
export function wholePower(a: Complex, exponent: bigint): Complex {
	const times = exponent < 0n ? -exponent : exponent;
	if (times > 10_000n) throw new F.Undefined('too large a power');
	let result = one;
	let square = a;
	for (let rest = times; rest > 0n; rest >>= 1n) {
		if (rest & 1n) result = multiply(result, square);
		if (rest > 1n) square = multiply(square, square);
	}
	return exponent < 0n ? divide(one, result) : result;
}

export function sineCosine(a: Complex): { readonly sine: Complex; readonly cosine: Complex } {
	if (a.im === 0n) {
		const { sine, cosine } = F.sineCosine(a.re);
		return { sine: real(sine), cosine: real(cosine) };
	}
	const { sine, cosine } = F.sineCosine(a.re);
	const up = F.exponential(a.im);
	const down = F.exponential(-a.im);
	const cosh = (up + down) / 2n;
	const sinh = (up - down) / 2n;
	return {
		sine: { re: F.multiply(sine, cosh), im: F.multiply(cosine, sinh) },
		cosine: { re: F.multiply(cosine, cosh), im: -F.multiply(sine, sinh) },
	};
}

const i: Complex = { re: 0n, im: F.unit };
const minusI: Complex = { re: 0n, im: -F.unit };

/** -i ln(iz + √(1 - z²)). */
export function arcsine(a: Complex): Complex {
	const root = squareRoot(subtract(one, multiply(a, a)));
	if (a.im === 0n && root.im === 0n) return real(F.arctangent2(a.re, root.re));
	return multiply(minusI, logarithm(add(multiply(i, a), root)));
}

/** i/2 (ln(1 - iz) - ln(1 + iz)). */
export function arctangent(a: Complex): Complex {
	if (a.im === 0n) return real(F.arctangent(a.re));
	const turned = multiply(i, a);
	const difference = subtract(logarithm(subtract(one, turned)), logarithm(add(one, turned)));
	return multiply({ re: 0n, im: F.unit / 2n }, difference);
}
