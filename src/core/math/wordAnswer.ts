import type { Answer } from './answer.ts';
import { groupEnd } from './brackets.ts';
import * as Q from './rational.ts';
import { scalar } from './scalarAnswer.ts';
import { literalWords, numberInWords } from './words.ts';

/** Returns the contents of a `\text{…}` that is the entire answer. */
export function wholeText(t: string): string | null {
	const match = /^\\text ?\{/.exec(t);
	if (match === null) return null;
	const open = match[0].length - 1;
	return groupEnd(t, open) === t.length - 1 ? t.slice(open + 1, -1) : null;
}

const choiceLetter = /^(?:\(([A-J])\)|\\text ?\{ ?\(?([A-J])\)? ?\}|([A-J]))[.:)]?$/;

const choiceWithRest = /^(?:\(([A-J])\)[.:]?|\\text ?\{ ?\(?([A-J])\)?[.:]? ?\}[.:]?|([A-J])[.)](?= )) ?(\S.*)$/;

export function parseChoice(t: string, wasText: boolean): Answer | null {
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

/** Words of up to three letters that would otherwise be parsed as products. Longer runs of letters are always words. */
const shortWord =
	/^(?:yes|no|odd|red|all|any|boy|man|cat|dog|dne|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr|jun|jul|aug|sep|oct|nov|dec)$/i;

/** Matches names such as `Bob`, `Amy`, and `ACB` (which can be an ordering but is not a product). */
const shortName = /^(?:[A-Z][a-z]{2}|[A-Z]{3,})$/;

export function parseKeyword(t: string): Answer | null {
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

export function parseWords(t: string): Answer | null {
	const words = literalWords(t);
	const number = numberInWords(words);
	if (number !== null) return scalar({ op: 'number', value: Q.rational(BigInt(number)) }, t);
	// Math that could not be parsed must not be compared as words.
	if (!/\p{L}{2,}/u.test(words) || /[\\^_={}<>|$]/.test(words)) return null;
	return { kind: 'words', words };
}
