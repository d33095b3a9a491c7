import type { Scalar } from './answer.ts';
import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { readExpression } from './readExpression.ts';
import { parseScalarText, readable, scalar, trimmed } from './scalarAnswer.ts';
import { isUnitName, parseUnit } from './units.ts';

const scaleWords: Readonly<Record<string, bigint>> = {
	hundred: 100n,
	thousand: 1_000n,
	million: 1_000_000n,
	billion: 1_000_000_000n,
	trillion: 1_000_000_000_000n,
};

/**
 * Parses a number or expression preceded or followed by a unit: `5 \text{ cm}`, `\$5`, `12 apples`, `5 million`, `5 ft
 * 6 in`.
 */
export function parseAmount(t: string): Scalar | null {
	const currency = /^([+-]?) ?(?:\\text ?\{ ?(dollar|USD|US|Rs\.?|EUR|GBP)\$? ?\}|([$€£¥₹])) ?(.+)$/.exec(t);
	if (currency !== null) {
		const rest = parseMoney(
			`${currency[1]}${currency[4]}`.replace(/(?: ?\\text ?\{ ?dollars? ?\}| dollars?| USD)$/, ''),
		);
		if (rest === null) return null;
		const unit = parseUnit((currency[2] ?? currency[3]) as string);
		return rest.unit === null || rest.unit.dimension === 'any'
			? { ...rest, unit }
			: rest.unit.dimension === unit?.dimension
				? rest
				: null;
	}
	return parseAmountValue(t);
}

/** Parses amounts of the same dimension as a single amount: `5 ft 6 in`, `2 hours and 30 minutes`. */
export function parseCompound(t: string): Scalar | null {
	const compound =
		/^(\d+(?:\.\d+)?) ?((?:\\text ?\{[^{}]*\})|[a-zA-Z']+) ?(?:,|and)? ?(\d+(?:\.\d+)?) ?((?:\\text ?\{[^{}]*\})|[a-zA-Z']+)$/.exec(
			t,
		);
	if (compound === null) return null;
	const [major, minor] = [parseUnit(compound[2] as string), parseUnit(compound[4] as string)];
	const [a, b] = [parsePlainNumber(compound[1] as string), parsePlainNumber(compound[3] as string)];
	if (!major || !minor || !a || !b || major.dimension !== minor.dimension) return null;
	// The smaller unit must come second: 5 cm and 3 cm are two separate lengths.
	if (Q.compare(minor.factor, major.factor) < 0) {
		const value = Q.add(a.value, Q.divide(Q.multiply(b.value, minor.factor), major.factor));
		return scalar({ op: 'number', value }, t, { unit: major });
	}
	return null;
}

const parseMoney = (text: string): Scalar | null =>
	parseScalarText(trimmed(text), text, null) ?? parseAmountValue(text);

/** Separates a number (ending in a digit, a brace, a root, or π) from the letters, text, or degree sign after it. */
const suffix =
	/^(.*?(?:[\d)}!a-zA-Z]|\\pi)) ?(%|percent|per ?cent|pct|percentage points?|(?:%|percent|per ?cent) of [a-zA-Z ]+|(?:\\text ?\{[^{}]*\}|\^ ?\{\\circ\})[^=<>]*)$|^([+-]?(?:[\d.,]+|(?:\d+ ?)?\\frac ?\{\d+\} ?\{\d+\}|\d+(?: \d+)? ?\/ ?\d+)(?:\d|\})?) ?-?((?:[a-zA-Z$€£¥₹°¢元][a-zA-Z.' -]*)(?:[/^{}\d a-zA-Z().]*))$/;

function parseAmountValue(t: string): Scalar | null {
	const match = suffix.exec(t);
	if (match === null) return expressionWithUnit(t);
	const value = trimmed((match[1] ?? match[3]) as string);
	const behind = ((match[2] ?? match[4]) as string).trim();
	const words = behind.replace(/\\text ?\{([^{}]*)\}/g, '$1').trim();
	if (/^(?:%|percent|per ?cent|pct|percentage|percentage points?)(?: of [a-zA-Z ]+)?$/i.test(words)) {
		const plain = parsePlainNumber(value);
		if (plain !== null) return scalar({ op: 'number', value: plain.value }, t, { digits: plain.digits, percent: true });
		const expression = readable(value) ? readExpression(value) : null;
		return expression === null ? null : scalar(expression, t, { percent: true });
	}
	// Ordinal numbers such as 5th and 21st.
	if (/^(?:st|nd|rd|th)$/.test(words) && /^\d+$/.test(value)) return parseScalarText(value, t, null);
	const [scale, ...after] = words.split(' ');
	const times = scaleWords[scale as string];
	if (times !== undefined) {
		const number = parsePlainNumber(value);
		if (number === null) return null;
		const unit = after.length === 0 ? null : parseUnit(after.join(' '));
		if (unit === null && after.length > 0) return null;
		return scalar({ op: 'number', value: Q.multiply(number.value, Q.rational(times)) }, t, { unit });
	}
	if (words === '') return null;
	// \sin 30^\circ is the sine of an angle, not an angle.
	if (/\\(?:sin|cos|tan|cot|sec|csc)(?![a-zA-Z])/.test(value)) return null;
	const spaced =
		/(?:\s|\})$/.test(t.slice(0, t.length - behind.length)) || behind.startsWith('\\text') || behind.startsWith('^');
	// "5m" can be five times m; "5 m" and \text{m} are meters.
	if (!spaced && /^[a-zA-Z](?:[\^/]|$)/.test(words)) return null;
	if (/^[a-zA-Z]$/.test(words) && !isUnitName(words) && !behind.startsWith('\\text')) return null;
	const unit = parseUnit(behind);
	if (unit === null) return null;
	// Letters that do not form a unit can be factors: 2 xy.
	if (unit.dimension.startsWith('label:') && /^[a-zA-Z]{1,2}$/.test(words) && !behind.startsWith('\\text')) return null;
	return parseScalarText(value, t, unit);
}

/** Parses any expression followed by the name of a known unit: `l^2/8 square feet`, `3/(1000\pi) meters / second`. */
function expressionWithUnit(t: string): Scalar | null {
	const match = /^(.*[\d)}]) ?((?:(?:square|cubic) )?[a-zA-Z]{3,12}(?: ?(?:\/|per) ?[a-zA-Z]{1,12})?)$/.exec(t);
	if (match === null || /\\[a-zA-Z]*$/.test(match[1] as string)) return null;
	const unit = parseUnit(match[2] as string);
	return unit === null || unit.dimension.startsWith('label:')
		? null
		: parseScalarText(trimmed(match[1] as string), t, unit);
}
