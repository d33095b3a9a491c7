import { parseAmount } from './amountAnswer.ts';
import type { Answer, Comparison, ParseAnswer } from './answer.ts';
import { splitOutside } from './brackets.ts';
import { expressionsEqual } from './compareExpressions.ts';
import { Budget, TooMuchWork } from './evaluate.ts';
import { type Expression, freeSymbols } from './expression.ts';
import { commas } from './listAnswer.ts';
import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { readExpression } from './readExpression.ts';
import { realValue, regionOfRelation } from './region.ts';
import { asRegion } from './regionAnswer.ts';
import { readable, trimmed } from './scalarAnswer.ts';

const comparisons: Readonly<Record<string, Comparison | '≈' | '∈'>> = {
	'=': '=',
	'<': '<',
	'>': '>',
	'\\le': '≤',
	'\\ge': '≥',
	'\\ne': '≠',
	'\\approx': '≈',
	'\\in': '∈',
	'\\sim': '≈',
	'\\Rightarrow': '=',
};

const relationTokens = new Set(Object.keys(comparisons));

/**
 * Text allowed before `=` as the name of an answer: letters with an index, `f(x)`, `|AB|`, `\angle ABC`, `(p, q)`,
 * `P(A)`.
 */
const nameForm =
	/^(?:\\(?:angle|triangle|overline|overrightarrow|vec|measuredangle|operatorname|text|mathcal|mathbb) ?)?(?:\{?[a-zA-Z]{1,4}'*\}?|\\(?!frac|sqrt|sin|cos|tan|log|ln|exp|pi(?![a-zA-Z]))[a-zA-Z]+(?: ?\{[^{}]*\})?)(?: ?_ ?(?:\{[^{}]*\}|\w|\\text ?\{[^{}]*\}))?'*(?:\^ ?(?:\{ ?(?:-1|T) ?\}|T))?(?: ?\([a-zA-Z0-9, \\]{0,20}\))?$|^\|[A-Z]{1,3}\|$|^\( ?[a-zA-Z](?:_\{?\w\}?)?(?: ?, ?[a-zA-Z](?:_\{?\w\}?)?){1,5} ?\)$|^\\text ?\{[^{}]*\}$|^(?!.*\b(?:is|are|if|when|so|get|have|solutions?|answers?)\b)[a-zA-Z]{2,12}(?: [a-zA-Z]{1,12}){0,4}$|^\\frac ?\{[A-Z]{2}\} ?\{[A-Z]{2}\}$|^[A-Z]{1,3}(?:_\{?[A-Za-z0-9]+\}?)? ?: ?[A-Z]{1,3}(?:_\{?[A-Za-z0-9]+\}?)?$|^P ?\([^()]*\)$/;

export function parseRelation(t: string, parse: ParseAnswer): Answer | null {
	const split = splitOutside(t, relationTokens);
	if (split === null || split.between.length === 0) return null;
	const kinds = split.between.map((token) => comparisons[token] as Comparison | '≈' | '∈');
	const sides = split.pieces;
	if (sides.slice(1).some((side) => side === '') || sides.length > 12) return null;
	// Comma-separated text is several items, not one equation.
	if ((splitOutside(t, commas)?.pieces.length ?? 2) > 1) return null;
	if (kinds.includes('∈')) {
		if (kinds.length !== 1 || !/^[a-zA-Z(\\]/.test(sides[0] as string)) return null;
		const set = parse(sides[1] as string);
		if (set === null || (set.kind !== 'list' && set.kind !== 'sequence' && set.kind !== 'region')) return null;
		if (set.kind === 'list') return set;
		const region = asRegion(set);
		return region === null ? null : { ...region, variable: sides[0] as string };
	}
	if (kinds.every((kind) => kind === '=' || kind === '≈')) return parseEquation(sides, kinds, parse);
	if (kinds.includes('≈')) return null;
	if (sides[0] === '') return parseBound(sides, kinds as Comparison[]);
	const read = sides.map((side) => (/^[+-]? ?\\infty$/.test(side) ? null : readSide(side)));
	// -∞ < x < 2 is equivalent to x < 2.
	let [from, to] = [0, sides.length];
	if (read[0] === null && /^[+-]? ?\\infty$/.test(sides[0] as string)) from = 1;
	if (read.at(-1) === null && /^[+-]? ?\\infty$/.test(sides.at(-1) as string)) to -= 1;
	const expressions = read.slice(from, to);
	const relations = kinds.slice(from, to - 1) as Comparison[];
	if (expressions.some((side) => side === null) || relations.length === 0) return null;
	const relation = { kind: 'relation', sides: expressions as Expression[], comparisons: relations } as const;
	return regionOfRelation(relation) ?? relation;
}

/** Parses `\ge 5`, a bound with an implied variable. */
function parseBound(sides: readonly string[], comparisons: readonly Comparison[]): Answer | null {
	const bound = sides.length === 2 && comparisons[0] !== '≠' ? readSide(sides[1] as string) : null;
	if (bound === null) return null;
	const region = regionOfRelation({ kind: 'relation', sides: [{ op: 'symbol', name: 'x' }, bound], comparisons });
	return region && { ...region, variable: null };
}

/** Parses one side of a relation. A number can have a unit or be a percentage. */
function readSide(side: string): Expression | null {
	const amount = parsePlainNumber(trimmed(side));
	if (amount !== null) {
		return { op: 'number', value: amount.percent ? Q.divide(amount.value, Q.rational(100n)) : amount.value };
	}
	const expression = readable(side) ? readExpression(side) : null;
	if (expression !== null) return expression;
	const withUnit = parseAmount(trimmed(side));
	return withUnit?.kind === 'scalar' ? withUnit.expression : null;
}

function parseEquation(
	sides: readonly string[],
	kinds: readonly (Comparison | '≈' | '∈')[],
	parse: ParseAnswer,
): Answer | null {
	const exact = kinds.includes('≈') ? sides.slice(0, kinds.indexOf('≈') + 1) : sides;
	const rounded = kinds.includes('≈') ? (sides.at(-1) as string) : null;
	const first = (exact[0] as string).trim();
	const last = exact.at(-1) as string;
	const isName = nameForm.test(first) && (exact.length > 1 || rounded !== null);
	if (isName && first !== '') {
		const rest = exact.length > 1 ? exact.slice(1) : [rounded as string];
		const value = rest.slice(0, -1).some((part) => mentionsText(first, part)) ? null : chainValue(rest, parse);
		if (value === null) return null;
		if (mentions(first, value)) return relationOf(sides, kinds);
		const isRounded = exact.length === 1 && value.kind === 'scalar';
		return {
			kind: 'named',
			name: first.replace(/\s+/g, ''),
			value: isRounded ? { ...value, approximate: true } : value,
		};
	}
	// 5 = x
	if (exact.length === 2 && /^[a-zA-Z](?:_\{?\w\}?)?$/.test(last)) {
		const value = parse(first);
		if (value?.kind === 'scalar' && value.exact !== null) return { kind: 'named', name: last, value };
	}
	if (exact.length === 1) return parse(first);
	const relation = relationOf(
		exact,
		exact.slice(1).map(() => '='),
	);
	if (relation === null) return null;
	// The relation is either a calculation, such as 3 + 4 = 7, or an identity, such as (x + 1)^2 = x^2 + 2x + 1.
	if (relation.sides.every((side) => freeSymbols(side).size === 0)) return chainValue(exact, parse);
	if (isIdentity(relation.sides)) return parse(last);
	return relation;
}

function isIdentity([first, ...rest]: readonly Expression[]): boolean {
	const budget = new Budget(3_000);
	try {
		return first !== undefined && rest.every((side) => expressionsEqual(first, side, budget));
	} catch (error) {
		if (error instanceof TooMuchWork) return false;
		throw error;
	}
}

/** Returns the value at the end of a chain such as `1 + 1 = 2`. All parts must be valid, and all numbers must agree. */
function chainValue(parts: readonly string[], parse: ParseAnswer): Answer | null {
	const value = parse(parts.at(-1) as string);
	if (value === null || parts.length === 1) return value;
	for (const part of parts.slice(0, -1)) {
		const other = parse(part);
		if (other === null || other.kind === 'words') return null;
		if (other.kind !== 'scalar' || value.kind !== 'scalar') continue;
		if (freeSymbols(other.expression).size > 0 || freeSymbols(value.expression).size > 0) continue;
		const isClose = value.digits !== null || other.digits !== null ? nearly : equalConstants;
		if (!isClose(other.expression, value.expression)) return null;
	}
	return value;
}

const equalConstants = (a: Expression, b: Expression): boolean => isIdentity([a, b]);

/** Returns whether two values are within 2% of each other, for chains that end in a rounded number. */
function nearly(a: Expression, b: Expression): boolean {
	const [first, second] = [realValue(a), realValue(b)];
	if (first === null || second === null) return false;
	const difference = first > second ? first - second : second - first;
	return difference * 50n <= (second < 0n ? -second : second);
}

function relationOf(sides: readonly string[], kinds: readonly (Comparison | '≈' | '∈')[]) {
	const expressions = sides.map((side) => (readable(side) ? readExpression(side) : null));
	if (expressions.some((side) => side === null) || kinds.some((kind) => kind !== '=')) return null;
	return {
		kind: 'relation',
		sides: expressions as Expression[],
		comparisons: kinds as Comparison[],
	} as const;
}

/** Returns whether a letter occurs in text, ignoring commands. */
function mentionsText(name: string, text: string): boolean {
	return /^[a-zA-Z]$/.test(name) && new RegExp(`(?<![\\\\a-zA-Z])${name}(?![a-zA-Z])`).test(text);
}

/** Returns whether the name occurs in the value: `x = x^2 - 1` is an equation. */
function mentions(name: string, value: Answer): boolean {
	const letter = /^[a-zA-Z](?:_\w+)?$/.exec(name.replace(/[{}\s]/g, ''))?.[0];
	if (letter === undefined) return false;
	if (value.kind === 'scalar') return freeSymbols(value.expression).has(letter);
	return value.kind === 'list' && value.items.some((item) => mentions(name, item));
}
