import { cleanText } from './cleanText.ts';
import { Budget, evaluate, TooMuchWork } from './evaluate.ts';
import { freeSymbols } from './expression.ts';
import { bits } from './fixedPoint.ts';
import { parseAnswer } from './parseAnswer.ts';
import type { Rational } from './rational.ts';

const longest = 500;
/** Number of decimal places for values without a short exact form. */
const places = 15;

/** A value as text, or the reason why there is none. */
export type Calculated = { readonly value: string } | { readonly fault: string };

/**
 * Evaluates an expression, typed as plain text or LaTeX. Rational results are exact (`1/3 ≈ 0.333…`); all other results
 * have 15 decimal places. Angles are in radians, and `log` has base 10. Await `loadLatexParser` first.
 */
export function calculate(text: string): Calculated {
	const written = text
		.trim()
		.replace(/\s*=\s*\??\s*$/, '')
		.replace(/\b(floor|ceil)\s*\(([^()]*)\)/g, (_, name: string, inner: string) =>
			name === 'floor' ? `\\lfloor ${inner} \\rfloor` : `\\lceil ${inner} \\rceil`,
		)
		.replace(/^([\d.,]+)\s*%\s*of\s+/i, '($1)/100*')
		.replace(/(?<=[\w)])\s*(?:\bmod\b|%(?=\s*[\d(]))\s*(?=[\w(])/g, ' \\bmod ');
	if (written === '') return { fault: 'The expression is empty.' };
	if (written.length > longest) return { fault: `The expression is longer than ${longest} characters.` };
	const answer = parseAnswer(cleanText(written));
	if (answer?.kind !== 'scalar') {
		return {
			fault: `"${text.trim().slice(0, 80)}" is not an expression that can be evaluated. Try one like (3/4)^2 + sqrt(2).`,
		};
	}
	if (answer.exact !== null) return { value: rationalAsText(answer.exact) };
	const symbols = [...freeSymbols(answer.expression)];
	if (symbols.length > 0)
		return { fault: `The value of ${symbols.slice(0, 5).join(', ')} is unknown. Use numbers only.` };
	try {
		const found = evaluate(answer.expression, new Map(), new Budget());
		if (found === null) return { fault: 'The expression is undefined, or its value is too large.' };
		const { re, im } = found.value;
		const imaginary = decimal(im, 1n << bits);
		if (imaginary.replace(/[-0.]/g, '') === '') return { value: `≈ ${decimal(re, 1n << bits)}` };
		return {
			value: `≈ ${decimal(re, 1n << bits)} ${imaginary.startsWith('-') ? '-' : '+'} ${imaginary.replace('-', '')}i`,
		};
	} catch (error) {
		if (error instanceof TooMuchWork) return { fault: 'The calculation takes too long.' };
		throw error;
	}
}

function rationalAsText({ n, d }: Rational): string {
	if (d === 1n) return shortened(`${n}`);
	const twosAndFives = (() => {
		let rest = d;
		for (const prime of [2n, 5n]) while (rest % prime === 0n) rest /= prime;
		return rest === 1n;
	})();
	const exact = twosAndFives ? exactDecimal(n, d) : null;
	if (exact !== null) return exact;
	return `${shortened(`${n}/${d}`)} ≈ ${decimal(n, d)}`;
}

/** Returns the exact decimal form of a fraction, or null if it has too many decimal places to be readable. */
function exactDecimal(n: bigint, d: bigint): string | null {
	for (let digits = 1, scale = 10n; digits <= 30; digits++, scale *= 10n) {
		if ((n * scale) % d === 0n) return placed((n * scale) / d, digits);
	}
	return null;
}

/** Formats a fraction as a decimal, rounded half away from zero. */
function decimal(n: bigint, d: bigint): string {
	const scale = 10n ** BigInt(places);
	const size = n < 0n ? -n : n;
	const rounded = (2n * size * scale + d) / (2n * d);
	return placed(n < 0n ? -rounded : rounded, places).replace(/\.?0+$/, '');
}

function placed(scaled: bigint, digits: number): string {
	const text = (scaled < 0n ? -scaled : scaled).toString().padStart(digits + 1, '0');
	return `${scaled < 0n ? '-' : ''}${shortened(text.slice(0, -digits))}.${text.slice(-digits)}`;
}

const shortened = (digits: string): string =>
	digits.length <= 400 ? digits : `${digits.slice(0, 400)}… (${digits.length} digits)`;
