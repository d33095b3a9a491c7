import type { Answer, AnswerList, Named, ParseAnswer } from './answer.ts';
import { splitOutside, tokens } from './brackets.ts';
import { parsePlainNumber } from './plainNumber.ts';
import { intersection, union } from './region.ts';
import { asRegion } from './regionAnswer.ts';

/** Maximum number of items in a list, set, or tuple. */
export const maxItems = 64;

const isInequality = /[<>]|\\(?:le|ge|ne|in)(?![a-zA-Z])/;

export const commas = new Set([',', ';']);

const semicolon = new Set([';']);

/** Qualifiers that only specify the domain of a letter: `k \in \mathbb{Z}`, `where n is an integer`. */
const qualifier =
	/^(?:(?:where|for|with|if|when) .*|\(?(?:[a-zA-Z](?: ?, ?[a-zA-Z])*) ?\\in ?\\mathbb ?\{?[A-Z]\}?(?:\^\{?\+\}?|_\{?\+\}?)?\)?|[a-zA-Z] is an? (?:integer|real number|constant|arbitrary constant)|(?:for )?any (?:integer|real number|constant) [a-zA-Z]|[a-zA-Z] (?:any )?(?:integer|an integer)|[a-zA-Z]+ ?= ?(?:\\pm ?)?\d ?, ?\\ldots.*|\\text ?\{(?: ?where| ?for| ?with| ?if).*)$/;

/** Parses several parts, separated by commas, semicolons, "and", or "or", or implied by a ±. */
export function parseParts(text: string, inBrackets: boolean, parse: ParseAnswer): Answer | null {
	let t = text;
	const alternatives = outsideWords(t, 'or');
	if (alternatives.length > 1 && isInequality.test(t)) {
		const regions = alternatives.map((piece) => parse(piece));
		const joined = regions.map((one) => (one === null ? null : asRegion(one)));
		if (joined.every((one) => one !== null)) return union(joined);
	}
	const conditions = outsideWords(t, 'and');
	if (conditions.length > 1 && isInequality.test(t)) {
		const regions = conditions.map((piece) => parse(piece));
		const joined = regions.map((one) => (one === null || one.kind !== 'region' ? null : one));
		if (joined.every((one) => one !== null)) return intersection(joined);
	}
	// Normalize "1, 2, and 3" to "1, 2, 3".
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
	if (pieces.length > maxItems) return null;
	const expanded = pieces.flatMap(expandSigns);
	if (!parted && expanded.length === 1) return t === text ? null : parse(t, inBrackets);
	if (expanded.length === 1) return parse(expanded[0] as string, inBrackets);
	if (expanded.length > maxItems) return null;
	if (/\\ldots/.test(t)) return null;
	const items: Answer[] = [];
	for (const piece of expanded) {
		const item = parse(piece, inBrackets);
		// Words separated by commas are just words: "Paris, France".
		if (item === null || (item.kind === 'words' && !allWords(expanded))) return null;
		items.push(item);
	}
	return listOf(items, 'bare');
}

const allWords = (pieces: readonly string[]): boolean => pieces.every((piece) => /^[\p{L}\\{} .'-]+$/u.test(piece));

/** Splits text at a word outside brackets. */
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

/**
 * Expands `a ± b` to two answers. Several ± signs are tied together if there is a ∓; otherwise, each is independent.
 */
function expandSigns(piece: string): string[] {
	if (piece.startsWith('\\{')) return [piece]; // The elements are expanded separately.
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

/**
 * Combines values of a single name into a named list ("x = 1 or x = 2", "x = 1, 2"). If the names differ, they are
 * kept.
 */
export function listOf(items: readonly Answer[], written: AnswerList['written']): AnswerList {
	const names = new Set(items.filter((item): item is Named => item.kind === 'named').map(({ name }) => name));
	const [name] = names;
	if (names.size !== 1 || name === undefined || items[0]?.kind !== 'named') return { kind: 'list', items, written };
	if (items.some((item) => item.kind === 'relation')) return { kind: 'list', items, written };
	return { kind: 'list', items: items.map((item) => (item.kind === 'named' ? item.value : item)), written, name };
}

/** Set-builder notation: `x | condition`, `x : condition`. */
const builder =
	/^\s*\(?[a-zA-Z](?:_\w)?(?: ?, ?[a-zA-Z])*\)?(?: ?\\in ?\\mathbb ?\{?[A-Z]\}?)? ?(?:\||:|\\colon) ?(.*(?:[<>=]|\\(?:le|ge|ne|in)(?![a-zA-Z])).*)$/;

/** Returns whether unescaped braces contain a set: several parts, or a letter with a condition. */
export function isSetInside(inside: string): boolean {
	const parts = splitOutside(inside, new Set([',']));
	return (parts !== null && parts.pieces.length > 1 && parsePlainNumber(inside) === null) || builder.test(inside);
}

/** Parses the contents of a set: elements, or `x | condition`. */
export function parseSet(inside: string, parse: ParseAnswer): Answer | null {
	const condition = builder.exec(inside)?.[1];
	if (condition !== undefined) {
		const answer = parse(condition);
		return answer?.kind === 'named' ? { kind: 'list', items: [answer.value], written: 'braces' } : answer;
	}
	if (inside.trim() === '') return { kind: 'list', items: [], written: 'braces' };
	const split = splitOutside(inside, commas);
	if (split === null || split.pieces.length > maxItems) return null;
	const items = split.pieces.flatMap(expandSigns).map((piece) => parse(piece, true));
	if (items.some((item) => item === null)) return null;
	return listOf(items as Answer[], 'braces');
}
