import { parseAmount, parseCompound } from './amountAnswer.ts';
import type { Answer, ParseAnswer } from './answer.ts';
import { parseBracketed, parseMatrix } from './bracketAnswer.ts';
import { groupEnd, tokens } from './brackets.ts';
import { isSetInside, parseParts, parseSet } from './listAnswer.ts';
import { parseBased, parseCongruence, parseRatio } from './numberForms.ts';
import { parsePlainNumber } from './plainNumber.ts';
import { sameRegion } from './region.ts';
import { asRegion, parseUnion } from './regionAnswer.ts';
import { parseRelation } from './relationAnswer.ts';
import { parseExpression, scalar, trimmed } from './scalarAnswer.ts';
import { parseChoice, parseKeyword, parseWords, wholeText } from './wordAnswer.ts';

/** Maximum nesting of answers within answers: a list of tuples of fractions has three levels. */
const maxDepth = 8;

/**
 * Parses a cleaned answer (`cleanText`). Returns null if it is neither words nor math that can be compared. Formats are
 * tried from the outside in: a list before the equations in it, an equation before its sides.
 */
export function parseAnswer(text: string): Answer | null {
	return parseAt(text, false, 0);
}

const leadingApprox = /^[\s"'=:]*\\approx(?![a-zA-Z])/;

function parseAt(text: string, inBrackets: boolean, depth: number): Answer | null {
	const answer = parseForm(text, inBrackets, depth);
	return answer?.kind === 'scalar' && leadingApprox.test(text) ? { ...answer, approximate: true } : answer;
}

function parseForm(text: string, inBrackets: boolean, depth: number): Answer | null {
	if (depth > maxDepth) return null;
	const parse: ParseAnswer = (part, inside = false) => parseAt(part, inside, depth + 1);
	let t = trimmed(text);
	for (let i = 0; i < 8 && t.startsWith('{') && groupEnd(t, 0) === t.length - 1; i++) {
		const inside = t.slice(1, -1).trim();
		if (isSetInside(inside)) return parseSet(inside, parse);
		t = trimmed(inside);
	}
	const inner = wholeText(t);
	if (inner !== null) t = trimmed(inner);
	if (t === '') return null;
	t = t.replace(/,? (?:for|where) (?:all|any|every|some|each) [^()]*$/, '');
	// "x < 2 : (-∞, 2)" gives the inequality and its interval.
	const twice = /^([^:]*(?:[<>]|\\[lg]e(?![a-zA-Z]))[^:]*): ?([([].*[)\]])$/.exec(t);
	if (twice !== null) {
		const [first, second] = [parse(twice[1] as string), parse(twice[2] as string)].map((one) => one && asRegion(one));
		return first && second && sameRegion(first, second) ? second : null;
	}
	if (!inBrackets) t = joinThousands(t);
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
		parseCompound(t) ??
		parseParts(t, inBrackets, parse) ??
		parseRelation(t, parse) ??
		parseUnion(t, parse) ??
		parseBracketed(t, parse) ??
		parseMatrix(t, parse) ??
		parseRatio(t) ??
		parseAmount(t) ??
		parseExpression(t) ??
		parseWords(t)
	);
}

/** Treats `1,000` outside brackets as a number if every comma is a thousands separator. */
function joinThousands(t: string): string {
	if (!/\d,\d{3}/.test(t) || /[([{]/.test(t.replace(/(?:\\[a-zA-Z]+|[_^]) ?\{/g, ''))) return t;
	if (!/^(?:[^,]|(?<=(?<![\d.,])\d{1,3}(?:,\d{3})*),(?=\d{3}(?!\d)))*$/.test(t)) return t;
	return t.replace(/(?<=\d),(?=\d{3}(?!\d))/g, '');
}
