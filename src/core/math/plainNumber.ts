import * as Q from './rational.ts';

/** A number as written, before any math is applied. */
export interface PlainNumber {
	readonly value: Q.Rational;
	/** Number of significant digits if written with a decimal point, or null if the number is exact. */
	readonly digits: number | null;
	readonly percent: boolean;
}

const integer = String.raw`(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+|\d+)`;
const decimal = new RegExp(String.raw`^([+-]?) ?(${integer}(?:\.\d*)?|\.\d+)(?:[eE]([+-]?\d{1,5}))?$`);
const scientific = new RegExp(
	String.raw`^([+-]?) ?(?:(${integer}(?:\.\d*)?|\.\d+) ?(?:\\times|\\cdot|\*|x) ?)?10 ?\^ ?(?:\{ ?([+-]?\d{1,5}) ?\}|([+-]?\d{1,5}))$`,
);
const slash = new RegExp(`^([+-]?) ?(${integer}) ?/ ?(${integer})$`);
const fraction = /^([+-]?) ?\\frac ?(?:\{ ?([+-]?\d+) ?\}|(\d)) ?(?:\{ ?([+-]?\d+) ?\}|(\d))$/;
const mixed = /^([+-]?) ?(\d+) ?\\frac ?(?:\{ ?(\d+) ?\}|(\d)) ?(?:\{ ?(\d+) ?\}|(\d))$/;
const mixedSlash = /^([+-]?) ?(\d+) +(\d+) ?\/ ?(\d+)$/;
const repeating = /^([+-]?) ?(\d*)\.(\d*)\\overline ?\{ ?(\d+) ?\}$/;
const dotted = /^([+-]?) ?(\d*)\.(\d+) ?\\ldots$/;

/** Removes the separators between groups of three digits. */
const plain = (text: string): string => text.replace(/[, ]/g, '');

function signed(sign: string | undefined, value: Q.Rational): Q.Rational {
	return sign === '-' ? Q.negate(value) : value;
}

/** Counts the digits from the first nonzero one to the last. */
function significantDigits(text: string): number {
	return text.replace('.', '').replace(/^0+/, '').length;
}

/**
 * Parses a number in any common notation: `1,000`, `-0.5`, `1.5e3`, `1.5\times 10^{3}`, `3/4`, `\frac34`, `3 1/2`,
 * `3\frac12`, `0.\overline{3}`, `0.333…`, `50%`. Returns null for anything else, including a denominator of zero or too
 * many digits.
 */
export function parsePlainNumber(text: string): PlainNumber | null {
	const percent = /\s?%$/.test(text);
	const t = percent ? text.replace(/\s?%$/, '') : text;
	if (t.length > 4_200 || !/\d/.test(t)) return null;
	try {
		const number = read(t);
		return number && { ...number, percent };
	} catch (error) {
		if (error instanceof Q.NumberTooLarge || error instanceof RangeError) return null;
		throw error;
	}
}

function read(t: string): Omit<PlainNumber, 'percent'> | null {
	let m = decimal.exec(t);
	if (m !== null) {
		const digits = plain(m[2] as string);
		const value = Q.parseDecimal(`${digits}e${m[3] ?? '0'}`);
		if (value === null) return null;
		return { value: signed(m[1], value), digits: /\.\d/.test(digits) ? significantDigits(digits) : null };
	}
	m = scientific.exec(t);
	if (m !== null) {
		const digits = plain(m[2] ?? '1');
		const value = Q.parseDecimal(`${digits}e${m[3] ?? m[4]}`);
		if (value === null) return null;
		return { value: signed(m[1], value), digits: /\.\d/.test(digits) ? significantDigits(digits) : null };
	}
	const exact = readFraction(t);
	return exact && { value: exact, digits: null };
}

function readFraction(t: string): Q.Rational | null {
	let m = slash.exec(t);
	if (m !== null) return signed(m[1], Q.rational(BigInt(plain(m[2] as string)), BigInt(plain(m[3] as string))));
	m = fraction.exec(t);
	if (m !== null) {
		return signed(m[1], Q.rational(BigInt((m[2] ?? m[3]) as string), BigInt((m[4] ?? m[5]) as string)));
	}
	m = mixed.exec(t) ?? mixedSlash.exec(t);
	if (m !== null) {
		const top = BigInt((m[3] ?? m[4]) as string);
		const bottom = BigInt((m.length > 5 ? (m[5] ?? m[6]) : m[4]) as string);
		// `2\frac{3}{2}` is a product rather than a mixed number.
		if (top >= bottom) return null;
		return signed(m[1], Q.add(Q.rational(BigInt(m[2] as string)), Q.rational(top, bottom)));
	}
	m = repeating.exec(t);
	if (m !== null) return signed(m[1], repeatingValue(m[2] ?? '', m[3] ?? '', m[4] as string));
	m = dotted.exec(t);
	if (m !== null) {
		// 0.333…, 0.1666…, 0.142857142857…: digits that occur at least twice (a single digit three times) repeat forever.
		const digits = m[3] as string;
		for (let length = 1; length <= 9; length++) {
			const period = digits.slice(-length);
			let times = 1;
			while (
				digits.slice(-length * (times + 1), -length * times || undefined) === period &&
				length * (times + 1) <= digits.length
			)
				times++;
			if (times >= (length === 1 ? 3 : 2)) {
				return signed(m[1], repeatingValue(m[2] ?? '', digits.slice(0, digits.length - length * times), period));
			}
		}
	}
	return null;
}

function repeatingValue(whole: string, before: string, period: string): Q.Rational {
	const shift = 10n ** BigInt(before.length);
	const start = Q.rational(BigInt(`${whole}${before}` || '0'), shift);
	return Q.add(start, Q.rational(BigInt(period), shift * (10n ** BigInt(period.length) - 1n)));
}
