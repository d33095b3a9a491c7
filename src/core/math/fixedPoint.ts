/**
 * Real functions on binary fixed-point numbers: a bigint `v` represents `v / 2^bits`. 256 fractional bits are 77
 * decimal digits, enough to distinguish different closed forms of an answer: `e^{\pi\sqrt{163}}` differs from its
 * nearest integer in the 31st digit. The cost of every function is bounded.
 */
export const bits = 256n;
export const unit = 1n << bits;
const guard = 48n;

/** Thrown outside the domain of a real function, or beyond the supported range. */
export class Undefined extends Error {}

const largest = 1n << 20_000n;

export function checked(value: bigint): bigint {
	if (value > largest || value < -largest) throw new Undefined('value too large');
	return value;
}

/** Multiplies, rounding toward zero so that products of opposite signs are exact opposites. */
export const multiply = (a: bigint, b: bigint): bigint => checked((a * b) / unit);
export function divide(a: bigint, b: bigint): bigint {
	if (b === 0n) throw new Undefined('division by zero');
	return checked((a << bits) / b);
}

/** Returns the floor of the square root (Newton's method from above). */
export function integerRoot(value: bigint): bigint {
	if (value < 2n) return value;
	let x = 1n << BigInt((value.toString(16).length * 4 + 1) >> 1);
	for (;;) {
		const next = (x + value / x) >> 1n;
		if (next >= x) return x;
		x = next;
	}
}

export function squareRoot(a: bigint): bigint {
	if (a < 0n) throw new Undefined('square root of a negative number');
	return integerRoot(a << bits);
}

/** Computes atan(1/n) from its series, with guard bits. */
function inverseArctangent(n: bigint): bigint {
	let term = (1n << (bits + guard)) / n;
	const square = n * n;
	let sum = term;
	for (let k = 3n; term !== 0n; k += 2n) {
		term = -term / square;
		sum += term / k;
	}
	return sum;
}

/** Computes atanh(1/n) from its series, with guard bits. */
function inverseHyperbolicArctangent(n: bigint): bigint {
	let term = (1n << (bits + guard)) / n;
	const square = n * n;
	let sum = term;
	for (let k = 3n; term !== 0n; k += 2n) {
		term /= square;
		sum += term / k;
	}
	return sum;
}

/** Machin's formula: π/4 = 4 atan(1/5) - atan(1/239). */
const widePi = 4n * (4n * inverseArctangent(5n) - inverseArctangent(239n));
export const pi = widePi >> guard;
const wideLn2 = 2n * inverseHyperbolicArctangent(3n);

/** Computes the exponential. The argument is limited to about 6,900 to keep the result in range. */
export function exponential(a: bigint): bigint {
	if (a > 6_900n * unit) throw new Undefined('exponent too large');
	if (a < -1_000n * unit) return 0n;
	const wide = a << guard;
	let k = wide / wideLn2;
	if (a < 0n) k -= 1n;
	// After eight halvings, the series needs only a few terms.
	const rest = (wide - k * wideLn2) >> 8n;
	const one = 1n << (bits + guard);
	let term = one;
	let sum = one;
	for (let i = 1n; term !== 0n; i++) {
		term = (term * rest) / (one * i);
		sum += term;
	}
	for (let i = 0; i < 8; i++) sum = (sum * sum) >> (bits + guard);
	return checked(k >= 0n ? (sum << k) >> guard : sum >> (guard - k));
}

/** Computes the natural logarithm of a positive number. */
export function logarithm(a: bigint): bigint {
	if (a <= 0n) throw new Undefined('logarithm of a non-positive number');
	const wideUnit = 1n << (bits + guard);
	// a = m * 2^k with m in [1, 2).
	const k = BigInt(a.toString(2).length) - 1n - bits;
	const shift = guard - k;
	let m = shift >= 0n ? a << shift : a >> -shift;
	let scale = 1n;
	// Square roots bring m close to 1, where the series converges quickly.
	for (let i = 0; i < 3; i++) {
		m = integerRoot(m << (bits + guard));
		scale *= 2n;
	}
	const z = ((m - wideUnit) << (bits + guard)) / (m + wideUnit);
	const square = (z * z) >> (bits + guard);
	let term = z;
	let sum = z;
	for (let i = 3n; term !== 0n; i += 2n) {
		term = (term * square) >> (bits + guard);
		sum += term / i;
	}
	return (2n * scale * sum + k * wideLn2) >> guard;
}

/** Computes sine and cosine. Arguments beyond 2^64 would have no digits left after range reduction. */
export function sineCosine(a: bigint): { readonly sine: bigint; readonly cosine: bigint } {
	if (a > unit << 64n || a < -(unit << 64n)) throw new Undefined('angle too large');
	const halfPi = widePi / 2n;
	const wide = a << guard;
	let quadrant = (wide + (wide >= 0n ? halfPi / 2n : -halfPi / 2n)) / halfPi;
	const rest = wide - quadrant * halfPi;
	const one = 1n << (bits + guard);
	const square = (rest * rest) >> (bits + guard);
	let sine = rest;
	let cosine = one;
	let term = rest;
	for (let i = 2n; term !== 0n; i += 2n) {
		term = -(term * square) / (one * i * (i + 1n));
		sine += term;
	}
	term = one;
	for (let i = 1n; term !== 0n; i += 2n) {
		term = -(term * square) / (one * i * (i + 1n));
		cosine += term;
	}
	quadrant = ((quadrant % 4n) + 4n) % 4n;
	const s = sine >> guard;
	const c = cosine >> guard;
	if (quadrant === 0n) return { sine: s, cosine: c };
	if (quadrant === 1n) return { sine: c, cosine: -s };
	if (quadrant === 2n) return { sine: -s, cosine: -c };
	return { sine: -c, cosine: s };
}

export function arctangent(a: bigint): bigint {
	// Apply atan(a) = 2 atan(a / (1 + sqrt(1 + a²))) until the series is short.
	let x = a;
	let scale = 1n;
	if (a > unit << 400n || a < -(unit << 400n)) return a > 0n ? pi / 2n : -pi / 2n;
	for (let i = 0; i < 5; i++) {
		x = divide(x, unit + squareRoot(unit + multiply(x, x)));
		scale *= 2n;
	}
	const square = multiply(x, x);
	let term = x;
	let sum = x;
	for (let i = 3n; term !== 0n; i += 2n) {
		term = -multiply(term, square);
		sum += term / i;
	}
	return sum * scale;
}

/** Returns the angle of the point (x, y) in (-π, π], or 0 for the origin. */
export function arctangent2(y: bigint, x: bigint): bigint {
	if (x === 0n) return y > 0n ? pi / 2n : y < 0n ? -pi / 2n : 0n;
	const angle = arctangent(divide(y, x));
	if (x > 0n) return angle;
	return y >= 0n ? angle + pi : angle - pi;
}
