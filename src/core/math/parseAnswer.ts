import type { Answer, AnswerList, Comparison, Named, Scalar, Sequence } from './answer.ts';
import { groupEnd, isEnclosed, splitOutside, tokens } from './brackets.ts';
import { exactValue } from './exactValue.ts';
import type { Expression } from './expression.ts';
import { freeSymbols } from './expression.ts';
import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { readExpression } from './readExpression.ts';
import { intersection, realValue, regionOfRelation, regionOfSequence, union, without } from './region.ts';
import { isUnitName, parseUnit, type Unit } from './units.ts';
import { literalWords, numberInWords } from './words.ts';

/** Most parts of a list, set or tuple. */
const mostItems = 64;
const mostDepth = 8;

export interface ParseOptions {
	/** In brackets a comma always separates; outside, `1,000` is a number. */
	readonly inBrackets?: boolean;
	readonly depth?: number;
}

/**
 * Reads a cleaned answer (`cleanText`). null: it is neither mathematics that can be compared nor words.
 */
export function parseAnswer(text: string, { inBrackets = false, depth = 0 }: ParseOptions = {}): Answer | null {
	if (depth > mostDepth) return null;
	let t = trimmed(text);
	for (let i = 0; i < 8 && t.startsWith('{') && groupEnd(t, 0) === t.length - 1; i++) {
		const inside = t.slice(1, -1).trim();
		const parts = splitOutside(inside, new Set([',']));
		// Braces that were not escaped, around several parts: a set.
		if (parts !== null && parts.pieces.length > 1 && !parsePlainNumber(inside)) return parseSet(inside, depth);
		t = trimmed(inside);
	}
	if (t === '') return null;
	const inner = wholeText(t);
	if (inner !== null) t = trimmed(inner);
	// Outside brackets 1,000 is a number, unless other commas divide.
	if (
		!inBrackets &&
		/\d,\d{3}/.test(t) &&
		!/[([{]/.test(t.replace(/\\[a-zA-Z]+ ?\{/g, '')) &&
		/^(?:[^,]|(?<=(?<![\d.,])\d{1,3}(?:,\d{3})*),(?=\d{3}(?!\d)))*$/.test(t)
	) {
		t = t.replace(/(?<=\d),(?=\d{3}(?!\d))/g, '');
	}
	const plain = inBrackets && /^\d{1,3}(?:,\d{3})+$/.test(t) ? null : parsePlainNumber(t);
	if (plain !== null) {
		return scalar({ op: 'number', value: plain.value }, t, { digits: plain.digits, percent: plain.percent });
	}
	if (tokens(t) === null) return null;
	return (
		parseChoice(t, inner !== null) ??
		parseKeyword(t) ??
		parseBased(t) ??
		parseCongruence(t) ??
		parseParts(t, inBrackets, depth) ??
		parseRelation(t, depth) ??
		parseUnion(t, depth) ??
		parseBracketed(t, depth) ??
		parseMatrix(t, depth) ??
		parseRatio(t) ??
		parseAmount(t) ??
		parseExpression(t) ??
		parseWords(t)
	);
}

function scalar(
	expression: Expression,
	source: string,
	more: { digits?: number | null; percent?: boolean; unit?: Unit | null } = {},
): Scalar | null {
	let exact: Q.Rational | null = null;
	try {
		exact = exactValue(expression);
	} catch (error) {
		// A division by zero has no value; what is too large is left to evaluation, which bounds it.
		if (error instanceof RangeError) return null;
		if (!(error instanceof Q.NumberTooLarge)) throw error;
	}
	return {
		kind: 'scalar',
		expression,
		exact,
		digits: more.digits ?? null,
		percent: more.percent ?? false,
		unit: more.unit ?? null,
		source,
	};
}

/** No punctuation or quotes around it; no spaces. */
function trimmed(text: string): string {
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

/** What a `\text{…}` holds that is the whole answer. */
function wholeText(t: string): string | null {
	const match = /^\\text ?\{/.exec(t);
	if (match === null) return null;
	const open = match[0].length - 1;
	return groupEnd(t, open) === t.length - 1 ? t.slice(open + 1, -1) : null;
}

const choiceLetter = /^(?:\(([A-J])\)|\\text ?\{ ?\(?([A-J])\)? ?\}|([A-J]))[.:)]?$/;
const choiceWithRest = /^(?:\(([A-J])\)[.:]?|\\text ?\{ ?\(?([A-J])\)?[.:]? ?\}[.:]?|([A-J])[.:)](?= )) ?(\S.*)$/;

function parseChoice(t: string, wasText: boolean): Answer | null {
	const alone = choiceLetter.exec(t) ?? (wasText ? /^\(?([A-J])\)?$/.exec(t) : null);
	if (alone !== null) return { kind: 'choice', letter: (alone[1] ?? alone[2] ?? alone[3]) as string, rest: null };
	const long = choiceWithRest.exec(t);
	if (long === null) return null;
	return { kind: 'choice', letter: (long[1] ?? long[2] ?? long[3]) as string, rest: long[4] as string };
}

const nothing =
	/^(?:\\emptyset|\\\{ ?\\\}|(?:there (?:are|is) )?no (?:real |integer |valid )?(?:solutions?|roots?|values?)(?: exists?)?|(?:the )?empty set|\\phi)$/i;
const reals =
	/^(?:(?:\(?[a-z] ?\\in )?\\mathbb ?\{?R\}?\)?|(?:the set of )?all real(?: numbers?|s| values)?(?: of [a-z])?|any real number|\\text ?\{all real(?: number)?s?\}|\(-\\infty ?, ?\+?\\infty ?\))$/i;

/** Words of up to three letters, which would be read as products; longer runs of letters are words anyway. */
const shortWord =
	/^(?:yes|no|odd|red|all|any|boy|man|cat|dog|dne|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)$/i;
/** `Bob`, `Amy`. */
const shortName = /^[A-Z][a-z]{2}$/;

function parseKeyword(t: string): Answer | null {
	if (nothing.test(t)) return { kind: 'list', items: [], written: 'braces' };
	if (reals.test(t)) {
		const open = { value: null, closed: false };
		return { kind: 'region', parts: [{ low: open, high: open }], variable: null };
	}
	if (shortWord.test(t) || shortName.test(t)) return { kind: 'words', words: literalWords(t) };
	const infinite = /^([+-]?) ?\\infty$/.exec(t);
	if (infinite !== null) return { kind: 'infinite', sign: infinite[1] === '-' ? -1 : 1 };
	return null;
}

function parseBased(t: string): Answer | null {
	const match =
		/^([0-9][0-9A-Z ]*)_ ?\{? ?(?:\\text ?\{)?(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|sixteen)\}? ?\}?$/.exec(
			t,
		);
	if (match === null) return null;
	const base = /^\d/.test(match[2] as string) ? Number(match[2]) : numberInWords(match[2] as string);
	const digits = (match[1] as string).replaceAll(' ', '').replace(/^0+(?=.)/, '');
	if (base === null || base < 2 || base > 36) return null;
	if ([...digits].some((digit) => Number.parseInt(digit, 36) >= base)) return null;
	return { kind: 'based', digits, base };
}

function parseCongruence(t: string): Answer | null {
	const match = /^(.+?)\\equiv(.+?)(?:\\pmod ?\{?([^{}]+)\}?|\( ?\\(?:mod|bmod|text ?\{mod\}) ?([^()]+)\))$/.exec(t);
	if (match === null) return null;
	const left = readExpression(match[1] as string);
	const right = parsePlainNumber(trimmed(match[2] as string))?.value ?? null;
	const modulus = parsePlainNumber(trimmed((match[3] ?? match[4]) as string))?.value ?? null;
	if (left === null || right === null || modulus === null || modulus.n <= 0n) return null;
	return { kind: 'congruence', left, right, modulus };
}

const isRelation = /[<>=]|\\(?:le|ge|ne|in)(?![a-zA-Z])/;
const isInequality = /[<>]|\\(?:le|ge|ne|in)(?![a-zA-Z])/;
const commas = new Set([',', ';']);
const semicolon = new Set([';']);

/** What only says where a letter comes from: `k \in \mathbb{Z}`, `where n is an integer`. */
const qualifier =
	/^(?:(?:where|for|with|if|when) .*|\(?(?:[a-zA-Z](?: ?, ?[a-zA-Z])*) ?\\in ?\\mathbb ?\{?[A-Z]\}?(?:\^\{?\+\}?|_\{?\+\}?)?\)?|[a-zA-Z] is an? (?:integer|real number|constant|arbitrary constant)|(?:for )?any (?:integer|real number|constant) [a-zA-Z]|[a-zA-Z] (?:any )?(?:integer|an integer)|[a-zA-Z]+ ?= ?(?:\\pm ?)?\d ?, ?\\ldots.*|\\text ?\{(?: ?where| ?for| ?with| ?if).*)$/;

/** Several parts: separated by commas, semicolons, "and", "or", or by a ± inside. */
function parseParts(text: string, inBrackets: boolean, depth: number): Answer | null {
	let t = text;
	const alternatives = outsideWords(t, 'or');
	if (alternatives.length > 1 && isInequality.test(t)) {
		const regions = alternatives.map((piece) => parseAnswer(piece, { depth: depth + 1 }));
		const joined = regions.map((one) => (one === null ? null : asRegion(one)));
		if (joined.every((one) => one !== null)) return union(joined);
	}
	const conditions = outsideWords(t, 'and');
	if (conditions.length > 1 && isInequality.test(t)) {
		const regions = conditions.map((piece) => parseAnswer(piece, { depth: depth + 1 }));
		const joined = regions.map((one) => (one === null || one.kind !== 'region' ? null : one));
		if (joined.every((one) => one !== null)) return intersection(joined);
	}
	// "1, 2, and 3"
	t = [t]
		.flatMap((part) => outsideWords(part, 'or'))
		.flatMap((part) => outsideWords(part, 'and'))
		.map((part) => part.replace(/^,\s*|\s*,$/g, ''))
		.filter((part) => part !== '')
		.join(', ');
	if (!inBrackets && /,\s/.test(t) && !/[([]/.test(t))
		t = t.replace(/(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|[,.]\d)/g, (number) => number.replaceAll(',', ''));
	const split = splitOutside(t, t.includes(';') ? semicolon : commas) ?? { pieces: [] };
	const groups = split.pieces.length > 1 ? split : splitOutside(t, commas);
	if (groups === null) return null;
	let pieces = groups.pieces.filter((piece) => piece !== '');
	const parted = pieces.length > 1;
	if (parted) pieces = pieces.filter((piece, i) => i === 0 || !qualifier.test(piece));
	if (pieces.length > mostItems) return null;
	const expanded = pieces.flatMap(expandSigns);
	if (!parted && expanded.length === 1) return t === text ? null : parseAnswer(t, { inBrackets, depth: depth + 1 });
	if (expanded.length === 1) return parseAnswer(expanded[0] as string, { inBrackets, depth: depth + 1 });
	if (expanded.length > mostItems) return null;
	if (/\\ldots/.test(t)) return null;
	const items: Answer[] = [];
	for (const piece of expanded) {
		const item = parseAnswer(piece, { inBrackets, depth: depth + 1 });
		// Words with commas are words: "Paris, France".
		if (item === null || (item.kind === 'words' && !allWords(expanded))) return null;
		items.push(item);
	}
	return listOf(items, 'bare');
}

const allWords = (pieces: readonly string[]): boolean => pieces.every((piece) => /^[\p{L}\\{} .'-]+$/u.test(piece));

/** Splits at a word outside brackets. */
function outsideWords(text: string, word: 'and' | 'or'): string[] {
	if (!text.includes(word)) return [text];
	const list = tokens(text);
	if (list === null) return [text];
	const pieces: string[] = [];
	let from = 0;
	const pattern = new RegExp(`(?<![a-zA-Z\\\\])${word}(?![a-zA-Z])`, 'g');
	const depthAt = new Map(list.map((token) => [token.start, token.depth]));
	for (const match of text.matchAll(pattern)) {
		if (depthAt.get(match.index) !== 0) continue;
		pieces.push(text.slice(from, match.index).trim());
		from = match.index + word.length;
	}
	pieces.push(text.slice(from).trim());
	return pieces;
}

/** `a ± b` is two answers; several ± go together with ∓, else each has its own sign. */
function expandSigns(piece: string): string[] {
	if (piece.startsWith('\\{')) return [piece]; // its elements are expanded
	const signs = piece.match(/\\(?:pm|mp)(?![a-zA-Z])/g);
	if (signs === null) return [piece];
	if (signs.includes('\\mp') || signs.length === 1) {
		return [
			piece.replace(/\\pm(?![a-zA-Z])/g, '+').replace(/\\mp(?![a-zA-Z])/g, '-'),
			piece.replace(/\\pm(?![a-zA-Z])/g, '-').replace(/\\mp(?![a-zA-Z])/g, '+'),
		];
	}
	if (signs.length > 3) return [piece];
	return ['+', '-'].flatMap((sign) => expandSigns(piece.replace(/\\pm(?![a-zA-Z])/, sign)));
}

/** Values of one name lose it ("x = 1 or x = 2", "x = 1, 2"); values of several names keep theirs. */
function listOf(items: readonly Answer[], written: AnswerList['written']): AnswerList {
	const names = new Set(items.filter((item): item is Named => item.kind === 'named').map(({ name }) => baseName(name)));
	const first = items[0];
	const plain = names.size === 1 && first?.kind === 'named' && items.every((item) => item.kind !== 'relation');
	return {
		kind: 'list',
		items: plain ? items.map((item) => (item.kind === 'named' ? item.value : item)) : items,
		written,
	};
}

/** `x_1` and `x_2` name values of x; `f(x)` and `f(n)` values of f. */
export function baseName(name: string): string {
	return name
		.replace(/_ ?(?:\{[^{}]*\}|\w)$/, '')
		.replace(/\([^()]*\)$/, '')
		.replace(/\s+/g, '');
}

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

/** What may stand before `=` as the name of an answer: letters with an index, `f(x)`, `|AB|`, `\angle ABC`, `(p, q)`, `P(A)`. */
const nameForm =
	/^(?:\\(?:angle|triangle|overline|overrightarrow|vec|measuredangle|operatorname|text|mathcal|mathbb) ?)?(?:\{?[a-zA-Z]{1,4}'*\}?|\\(?!frac|sqrt|sin|cos|tan|log|ln|exp|pi(?![a-zA-Z]))[a-zA-Z]+(?: ?\{[^{}]*\})?)(?: ?_ ?(?:\{[^{}]*\}|\w|\\text ?\{[^{}]*\}))?'*(?: ?\([a-zA-Z0-9, \\]{0,20}\))?$|^\|[A-Z]{1,3}\|$|^\( ?[a-zA-Z](?:_\{?\w\}?)?(?: ?, ?[a-zA-Z](?:_\{?\w\}?)?){1,5} ?\)$|^\\text ?\{[^{}]*\}$|^[a-zA-Z]{2,12}(?: [a-zA-Z]{1,12}){0,4}$|^\\frac ?\{[A-Z]{2}\} ?\{[A-Z]{2}\}$|^[A-Z]{1,3}(?:_\{?[A-Za-z0-9]+\}?)? ?: ?[A-Z]{1,3}(?:_\{?[A-Za-z0-9]+\}?)?$|^P ?\([^()]*\)$/;

function parseRelation(t: string, depth: number): Answer | null {
	const split = splitOutside(t, relationTokens);
	if (split === null || split.between.length === 0) return null;
	const kinds = split.between.map((token) => comparisons[token] as Comparison | '≈' | '∈');
	const sides = split.pieces;
	if (sides.slice(1).some((side) => side === '') || sides.length > 12) return null;
	if (kinds.includes('∈')) {
		if (kinds.length !== 1 || !/^[a-zA-Z(\\]/.test(sides[0] as string)) return null;
		const set = parseAnswer(sides[1] as string, { depth: depth + 1 });
		if (set === null || (set.kind !== 'list' && set.kind !== 'sequence' && set.kind !== 'region')) return null;
		if (set.kind === 'list') return set;
		const region = asRegion(set);
		return region === null ? null : { ...region, variable: sides[0] as string };
	}
	if (kinds.every((kind) => kind === '=' || kind === '≈')) return parseEquation(sides, kinds, depth);
	if (kinds.includes('≈')) return null;
	const read = sides.map((side) => (/^[+-]? ?\\infty$/.test(side) ? null : readSide(side)));
	// -∞ < x < 2 says no more than x < 2.
	let [from, to] = [0, sides.length];
	if (read[0] === null && /^[+-]? ?\\infty$/.test(sides[0] as string)) from = 1;
	if (read.at(-1) === null && /^[+-]? ?\\infty$/.test(sides.at(-1) as string)) to -= 1;
	const expressions = read.slice(from, to);
	const relations = kinds.slice(from, to - 1) as Comparison[];
	if (expressions.some((side) => side === null) || relations.length === 0) return null;
	const relation = { kind: 'relation', sides: expressions as Expression[], comparisons: relations } as const;
	return regionOfRelation(relation) ?? relation;
}

/** A side of a relation; a number may have a unit or be a percentage. */
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
	depth: number,
): Answer | null {
	const exact = kinds.includes('≈') ? sides.slice(0, kinds.indexOf('≈') + 1) : sides;
	const rounded = kinds.includes('≈') ? (sides.at(-1) as string) : null;
	const first = (exact[0] as string).trim();
	const last = exact.at(-1) as string;
	const isName = nameForm.test(first) && (exact.length > 1 || rounded !== null);
	if (isName && first !== '') {
		const rest = exact.length > 1 ? exact.slice(1) : [rounded as string];
		const value = chainValue(rest, depth);
		if (value === null) return null;
		if (mentions(first, value)) return relationOf(sides, kinds);
		return { kind: 'named', name: first.replace(/\s+/g, ''), value };
	}
	// 5 = x
	if (exact.length === 2 && /^[a-zA-Z](?:_\{?\w\}?)?$/.test(last)) {
		const value = parseAnswer(first, { depth: depth + 1 });
		if (value?.kind === 'scalar' && value.exact !== null) return { kind: 'named', name: last, value };
	}
	if (exact.length === 1) return parseAnswer(first, { depth: depth + 1 });
	const relation = relationOf(
		exact,
		exact.slice(1).map(() => '='),
	);
	if (relation === null) return null;
	// A calculation: 3 + 4 = 7.
	if (relation.sides.every((side) => freeSymbols(side).size === 0)) return chainValue(exact, depth);
	return relation;
}

/** The value at the end of a chain `1 + 1 = 2`, whose parts that are numbers must agree but for rounding (2 %). */
function chainValue(parts: readonly string[], depth: number): Answer | null {
	const value = parseAnswer(parts.at(-1) as string, { depth: depth + 1 });
	if (value?.kind !== 'scalar' || parts.length === 1) return value;
	const end = realValue(value.expression);
	if (end === null) return value;
	for (const part of parts.slice(0, -1)) {
		const other = parseAnswer(part, { depth: depth + 1 });
		const number = other?.kind === 'scalar' ? realValue(other.expression) : null;
		if (number === null) continue;
		const difference = number > end ? number - end : end - number;
		if (difference * 50n > (end < 0n ? -end : end)) return null;
	}
	return value;
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

/** Whether the name occurs in the value: `x = x^2 - 1` is an equation. */
function mentions(name: string, value: Answer): boolean {
	const letter = /^[a-zA-Z](?:_\w+)?$/.exec(name.replace(/[{}\s]/g, ''))?.[0];
	if (letter === undefined) return false;
	if (value.kind === 'scalar') return freeSymbols(value.expression).has(letter);
	return value.kind === 'list' && value.items.some((item) => mentions(name, item));
}

/** What stands for a set of real numbers. */
export function asRegion(answer: Answer) {
	if (answer.kind === 'region') return answer;
	if (answer.kind === 'sequence') return regionOfSequence(answer);
	if (answer.kind === 'named') return asRegion(answer.value);
	if (answer.kind === 'scalar' && answer.exact !== null) return pointRegion([answer]);
	if (answer.kind === 'list' && answer.items.every((item): item is Scalar => item.kind === 'scalar')) {
		return pointRegion(answer.items as readonly Scalar[]);
	}
	return null;
}

function pointRegion(values: readonly Scalar[]) {
	return union(
		values.map((value) => ({
			kind: 'region' as const,
			parts: [{ low: { value, closed: true }, high: { value, closed: true } }],
			variable: null,
		})),
	);
}

function parseUnion(t: string, depth: number): Answer | null {
	const split = splitOutside(
		t.replace(/(?<=[)\]}]) ?U ?(?=[([{\\])/g, '\\cup '),
		new Set(['\\cup', '\\setminus', '\\cap']),
	);
	if (split === null || split.between.length === 0) return null;
	const answers = split.pieces.map((piece) => parseAnswer(piece, { depth: depth + 1 }));
	if (answers.some((answer) => answer === null)) return null;
	// Sets of what are no numbers: {1,3} ∪ {2,4} as one set.
	if (split.between.every((token) => token === '\\cup') && answers.every((answer) => answer?.kind === 'list')) {
		return listOf(
			answers.flatMap((answer) => (answer as AnswerList).items),
			'braces',
		);
	}
	let result = asRegion(answers[0] as Answer);
	for (const [i, token] of split.between.entries()) {
		const next = asRegion(answers[i + 1] as Answer);
		if (result === null || next === null) return null;
		result =
			token === '\\cup'
				? union([result, next])
				: token === '\\cap'
					? intersection([result, next])
					: without(result, next);
	}
	return result;
}

function parseBracketed(t: string, depth: number): Answer | null {
	if (!isEnclosed(t)) return null;
	const set = /^\\\{(.*)\\\}$/.exec(t);
	if (set !== null) return parseSet(set[1] as string, depth);
	const match = /^(\(|\[|\\langle)(.*?)(\)|\]|\\rangle)$/.exec(t);
	if (match === null) return null;
	const [, open, inside = '', close] = match;
	const split = splitOutside(inside, commas);
	if (split === null) return null;
	if (split.pieces.length === 1) {
		// Brackets around one thing only group it.
		return open === '(' && close === ')' ? parseAnswer(inside, { depth: depth + 1 }) : null;
	}
	if (split.pieces.length > mostItems || split.pieces.some((piece) => piece === '')) return null;
	const items = split.pieces.map((piece) => parseAnswer(piece, { inBrackets: true, depth: depth + 1 }));
	if (items.some((item) => item === null || item.kind === 'words')) return null;
	return {
		kind: 'sequence',
		open: open === '[' ? '[' : '(',
		close: close === ']' ? ']' : ')',
		items: items as Answer[],
	} satisfies Sequence;
}

/** The inside of a set: elements, or `x | condition`. */
function parseSet(inside: string, depth: number): Answer | null {
	const builder =
		/^\s*(\(?[a-zA-Z](?:_\w)?(?: ?, ?[a-zA-Z])*\)?)(?: ?\\in ?\\mathbb ?\{?[A-Z]\}?)? ?(?:\||:|\\colon) ?(.+)$/.exec(
			inside,
		);
	if (builder !== null && isRelation.test(builder[2] as string)) {
		const condition = parseAnswer(builder[2] as string, { depth: depth + 1 });
		if (condition?.kind === 'named') return { kind: 'list', items: [condition.value], written: 'braces' };
		return condition;
	}
	if (inside.trim() === '') return { kind: 'list', items: [], written: 'braces' };
	const split = splitOutside(inside, commas);
	if (split === null || split.pieces.length > mostItems) return null;
	const items = split.pieces
		.flatMap(expandSigns)
		.map((piece) => parseAnswer(piece, { inBrackets: true, depth: depth + 1 }));
	if (items.some((item) => item === null)) return null;
	return listOf(items as Answer[], 'braces');
}

function parseMatrix(t: string, depth: number): Answer | null {
	const match =
		/^(.*?)(?:\(|\[|\|)?\s*\\begin ?\{(pmatrix|bmatrix|matrix|vmatrix|Bmatrix|smallmatrix|array)\}(?: ?\{[lcr| ]*\})?(.*)\\end ?\{\2\}\s*(?:\)|\]|\|)?$/.exec(
			t,
		);
	if (match === null) return null;
	const [, before = '', environment, body = ''] = match;
	if (body.includes('\\begin')) return null;
	const rows = body
		.split(/\\\\|\\cr(?![a-zA-Z])/)
		.map((row) => row.replace(/\\hline/g, '').trim())
		.filter((row) => row !== '');
	if (rows.length === 0 || rows.length > 12) return null;
	const cells = rows.map((row) =>
		row.split('&').map((cell) => parseAnswer(cell, { inBrackets: true, depth: depth + 1 })),
	);
	const width = cells[0]?.length ?? 0;
	if (cells.some((row) => row.length !== width || row.some((cell) => cell === null || cell.kind === 'words')))
		return null;
	let factor: Expression | null = null;
	if (before.trim() !== '') {
		factor = readable(before) ? readExpression(before.replace(/\\(?:cdot|times)\s*$/, '')) : null;
		if (factor === null) return null;
	}
	const scaled = (cell: Answer): Answer | null => {
		if (factor === null) return cell;
		if (cell.kind !== 'scalar') return null;
		return scalar({ op: 'multiply', args: [factor, cell.expression] }, cell.source);
	};
	const result = cells.map((row) => row.map((cell) => scaled(cell as Answer)));
	if (result.some((row) => row.some((cell) => cell === null))) return null;
	return { kind: 'matrix', rows: result as Answer[][], determinant: environment === 'vmatrix' };
}

function parseRatio(t: string): Answer | null {
	const split = splitOutside(t, new Set([':', '\\colon']));
	if (split === null || split.pieces.length < 2 || split.pieces.length > 6) return null;
	const clock = /^(\d{1,2}) ?: ?([0-5]\d)(?: ?: ?([0-5]\d))? ?(?:\\text ?\{)? ?([ap])?\.? ?(?:m\.?)? ?\}?$/i.exec(t);
	const last = (split.pieces.at(-1) as string).replace(/\\text ?\{[^{}]*\}$/, '').replace(/[ap]\.? ?m\.?$/i, '');
	const parts = [...split.pieces.slice(0, -1), last].map((piece) => {
		const expression = readable(piece) ? readExpression(trimmed(piece)) : null;
		return expression === null ? null : scalar(expression, piece);
	});
	if (parts.some((part) => part === null)) return null;
	const time =
		clock === null
			? null
			: `${Number(clock[1])}:${clock[2]}${clock[3] ? `:${clock[3]}` : ''}${clock[4]?.toLowerCase() ?? ''}`;
	return { kind: 'ratio', parts: parts as Scalar[], clock: time };
}

const scaleWords: Readonly<Record<string, bigint>> = {
	hundred: 100n,
	thousand: 1_000n,
	million: 1_000_000n,
	billion: 1_000_000_000n,
	trillion: 1_000_000_000_000n,
};

/** A number or expression with a unit before or behind it: `5 \text{ cm}`, `\$5`, `12 apples`, `5 million`, `5 ft 6 in`. */
function parseAmount(t: string): Scalar | null {
	const currency = /^([+-]?) ?(?:\\text ?\{ ?(dollar|USD|US|Rs\.?|EUR|GBP)\$? ?\}|([$€£¥₹])) ?(.+)$/.exec(t);
	if (currency !== null) {
		const rest = parseMoney(
			`${currency[1]}${currency[4]}`.replace(/(?: ?\\text ?\{ ?dollars? ?\}| dollars?| USD)$/, ''),
		);
		if (rest === null) return null;
		const unit = parseUnit((currency[2] ?? currency[3]) as string);
		return rest.unit === null ? { ...rest, unit } : rest.unit.dimension === unit?.dimension ? rest : null;
	}
	return parseAmountValue(t);
}

const parseMoney = (text: string): Scalar | null =>
	parseScalarText(trimmed(text), text, null) ?? parseAmountValue(text);

/** Where the number ends: a digit, a brace, a root, π; what follows is letters, text or a degree sign. */
const suffix =
	/^(.*?(?:[\d)}!a-zA-Z]|\\pi)) ?(%|percent|per ?cent|pct|percentage points?|(?:\\text ?\{[^{}]*\}|\^ ?\{\\circ\})[^=<>]*)$|^([+-]?(?:[\d.,]+|\\frac ?\{\d+\} ?\{\d+\})(?:\d|\})?) ?-?((?:[a-zA-Z$€£¥₹°¢元][a-zA-Z.' -]*)(?:[/^{}\d a-zA-Z().]*))$/;

function parseAmountValue(t: string): Scalar | null {
	const compound =
		/^(\d+(?:\.\d+)?) ?((?:\\text ?\{[^{}]*\})|[a-zA-Z']+) ?(?:,|and)? ?(\d+(?:\.\d+)?) ?((?:\\text ?\{[^{}]*\})|[a-zA-Z']+)$/.exec(
			t,
		);
	if (compound !== null) {
		const [major, minor] = [parseUnit(compound[2] as string), parseUnit(compound[4] as string)];
		const [a, b] = [parsePlainNumber(compound[1] as string), parsePlainNumber(compound[3] as string)];
		if (major && minor && a && b && major.dimension === minor.dimension && !major.dimension.startsWith('label:')) {
			const value = Q.add(a.value, Q.divide(Q.multiply(b.value, minor.factor), major.factor));
			return scalar({ op: 'number', value }, t, { unit: major });
		}
	}
	const match = suffix.exec(t);
	if (match === null) return null;
	const value = trimmed((match[1] ?? match[3]) as string);
	const behind = ((match[2] ?? match[4]) as string).trim();
	const words = behind.replace(/\\text ?\{([^{}]*)\}/g, '$1').trim();
	if (/^(?:%|percent|per ?cent|pct|percentage|percentage points?)$/i.test(words)) {
		const plain = parsePlainNumber(value);
		if (plain !== null) return scalar({ op: 'number', value: plain.value }, t, { digits: plain.digits, percent: true });
		const expression = readable(value) ? readExpression(value) : null;
		return expression === null ? null : scalar(expression, t, { percent: true });
	}
	// 5th, 21st
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
	// \sin 30^\circ is a sine, not an angle.
	if (/\\(?:sin|cos|tan|cot|sec|csc)(?![a-zA-Z])/.test(value)) return null;
	const spaced =
		/(?:\s|\})$/.test(t.slice(0, t.length - behind.length)) || behind.startsWith('\\text') || behind.startsWith('^');
	// "5m" may be five times m; "5 m" and \text{m} are metres.
	if (!spaced && /^[a-zA-Z](?:[\^/]|$)/.test(words)) return null;
	if (/^[a-zA-Z]$/.test(words) && !isUnitName(words) && !behind.startsWith('\\text')) return null;
	const unit = parseUnit(behind);
	if (unit === null) return null;
	// Two or three letters that are no unit may be factors: 2 xy.
	if (unit.dimension.startsWith('label:') && /^[a-zA-Z]{1,2}$/.test(words) && !behind.startsWith('\\text')) return null;
	return parseScalarText(value, t, unit);
}

function parseScalarText(value: string, source: string, unit: Unit | null): Scalar | null {
	const plain = parsePlainNumber(value);
	if (plain !== null) {
		return scalar({ op: 'number', value: plain.value }, source, { digits: plain.digits, percent: plain.percent, unit });
	}
	const expression = readable(value) ? readExpression(value) : null;
	return expression === null ? null : scalar(expression, source, { unit });
}

/** Names of functions as the parser knows them, which are no words. */
const wordRun = /(?<![\\a-zA-Z])[a-zA-Z]{4,}/;

/** Whether a text may be mathematics at all: no words, no digits apart ("1 2"), nothing that the parser reads otherwise. */
function readable(t: string): boolean {
	if (t.length > 2_000 || wordRun.test(t.replace(/\\(?:operatorname|begin|end) ?\{[a-zA-Z]*\}/g, ''))) return false;
	if (/(?<!_\d?)\d \d|\\text|\\begin|\\ldots|[%$#&"@~`?]|[^\x20-\x7e]/.test(t)) return false;
	return !/\\(?:infty|pm|mp|cup|cap|emptyset|mathbb|to|implies|iff|mathcal)(?![a-zA-Z])/.test(t);
}

function parseExpression(t: string): Scalar | null {
	if (!readable(t)) return null;
	const expression = readExpression(t.replace(/\\varphi/g, '\\phi'));
	return expression === null ? null : scalar(expression, t);
}

function parseWords(t: string): Answer | null {
	const words = literalWords(t);
	const number = numberInWords(words);
	if (number !== null) return scalar({ op: 'number', value: Q.rational(BigInt(number)) }, t);
	// Mathematics that could not be read is not compared as if it were words.
	if (!/\p{L}{2,}/u.test(words) || /[\\^_={}<>|$]/.test(words)) return null;
	return { kind: 'words', words };
}
