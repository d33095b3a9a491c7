import type { Scalar } from './answer.ts';
import { isEnclosed } from './brackets.ts';
import { exactValue } from './exactValue.ts';
import type { Expression } from './expression.ts';
import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { readExpression } from './readExpression.ts';
import type { Unit } from './units.ts';

export function scalar(
	expression: Expression,
	source: string,
	more: { digits?: number | null; percent?: boolean; unit?: Unit | null } = {},
): Scalar | null {
	let exact: Q.Rational | null = null;
	try {
		exact = exactValue(expression);
	} catch (error) {
		// Division by zero has no value. Oversized values are left to evaluation, which has limits of its own.
		if (error instanceof RangeError) return null;
		if (!(error instanceof Q.NumberTooLarge)) throw error;
	}
	return {
		kind: 'scalar',
		expression,
		exact,
		digits: more.digits ?? null,
		percent: more.percent ?? false,
		approximate: false,
		unit: more.unit ?? null,
		source,
	};
}

/** Removes surrounding spaces, punctuation, and quotes. */
export function trimmed(text: string): string {
	let t = text.trim();
	for (let i = 0; i < 6; i++) {
		const next = t
			.replace(/^["'=:]+\s*|^\s*\\approx\s*/, '')
			.replace(/\s*(?:["]|(?<![\\.])[.,;:])+$/, '')
			.replace(/(?<=\d)\.$/, '')
			.trim();
		if (next === t) break;
		t = next;
	}
	return t;
}

/** Matches words but not function names that the parser knows. */
const wordRun = /(?<![\\a-zA-Z])[a-zA-Z]{4,}/;

/** Returns whether text could be math: no words, no separated digits ("1 2"), nothing that the parser would misread. */
export function readable(t: string): boolean {
	if (t.length > 2_000 || wordRun.test(t.replace(/\\(?:operatorname|begin|end) ?\{[a-zA-Z]*\}/g, ''))) return false;
	if (/(?<!_\d?)\d \d|\\text|\\begin|\\ldots|[%$#&"@~`?]|[^\x20-\x7e]/.test(t)) return false;
	return !/\\(?:infty|pm|mp|cup|cap|emptyset|mathbb|to|implies|iff|mathcal)(?![a-zA-Z])/.test(t);
}

export function parseScalarText(value: string, source: string, unit: Unit | null): Scalar | null {
	const plain = parsePlainNumber(value);
	if (plain !== null) {
		return scalar({ op: 'number', value: plain.value }, source, { digits: plain.digits, percent: plain.percent, unit });
	}
	const expression = readable(value) ? readExpression(value) : null;
	return expression === null ? null : scalar(expression, source, { unit });
}

export function parseExpression(t: string): Scalar | null {
	if (t.startsWith('[') && isEnclosed(t)) return null;
	// One or two letters in a text command inside an expression are symbols.
	const latex = /[+*/^=-]|\\frac/.test(t) ? t.replace(/\\text ?\{([a-zA-Z]{1,2})\}/g, ' $1 ') : t;
	if (!readable(latex)) return null;
	const expression = readExpression(latex.replace(/\\varphi/g, '\\phi'));
	return expression === null ? null : scalar(expression, t);
}
