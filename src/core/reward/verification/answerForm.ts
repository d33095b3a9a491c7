import { type Decimal, parseDecimal } from './decimal.ts';

/**
 * Form of an answer, as needed to construct a wrong one.
 * - `quantity`: one number, optionally with words or signs that do not affect it: `42`, `$1,234.50`, `5 cm`, `x = 3`,
 *   `50\%`
 * - `fraction`: `3/4`, `\frac{3}{4}`; `option`: a multiple-choice letter; `opposite`: yes, no, true, false
 * - `structure`: numbers in a tuple, set, interval, equation or inequality; `before` and `after` surround the last
 *   number
 * - `expression`: an expression whose value changes when 1 is added
 * - `text`: anything else; `plain` if it contains no mathematics, so changing a letter changes the answer
 */
export type AnswerForm =
	| { readonly form: 'quantity'; readonly before: string; readonly number: Decimal; readonly after: string }
	| {
			readonly form: 'fraction';
			readonly top: bigint;
			readonly bottom: bigint;
			/** Formats another fraction in the same notation. */
			write(top: bigint, bottom: bigint): string;
	  }
	| { readonly form: 'option'; readonly letter: string; write(letter: string): string }
	| { readonly form: 'opposite'; readonly other: string }
	| { readonly form: 'structure'; readonly before: string; readonly after: string }
	| { readonly form: 'expression' }
	| { readonly form: 'text'; readonly plain: boolean };

const longest = 400;
const mathematical = /[\\()[\]{}=<>^_*+|·×÷√≤≥∪∩∞]/u;

const opposites: Readonly<Record<string, string>> = { yes: 'no', true: 'false', correct: 'incorrect', right: 'wrong' };
const opposite = new Map(Object.entries(opposites).flatMap(([a, b]) => [[a, b] as const, [b, a] as const]));

/** Matches the case of the original: the opposite of "Yes" is "No". */
function likeCase(original: string, word: string): string {
	if (original === original.toUpperCase()) return word.toUpperCase();
	return /^\p{Lu}/u.test(original) ? word.charAt(0).toUpperCase() + word.slice(1) : word;
}

const quantity =
	/^((?:\\?\$|£|€|[A-Za-z]\s*=\s*)?\s*)([-+−]?[\d,]+(?:\.\d+)?)(\s*(?:\\?%|°|\^\{?\\circ\}?|(?:\\text\{)?[A-Za-zµ° ./]*)\}?\$?)$/;

function asQuantity(answer: string): AnswerForm | null {
	const match = quantity.exec(answer);
	if (match === null || /infty|inf|nan/i.test(match[3] as string)) return null;
	const number = parseDecimal(match[2] as string);
	return number && { form: 'quantity', before: match[1] as string, number, after: match[3] as string };
}

const slashed = /^([+-]?\d{1,30})(\s*\/\s*)(\d{1,30})$/;
const latexFraction = /^([+-]?)(\\[dt]?frac)\{\s*([+-]?\d{1,30})\s*\}\{\s*(\d{1,30})\s*\}$/;

function asFraction(answer: string): AnswerForm | null {
	const slash = slashed.exec(answer);
	if (slash) {
		const [, top = '', between = '', bottom = ''] = slash;
		if (BigInt(bottom) === 0n) return null;
		return { form: 'fraction', top: BigInt(top), bottom: BigInt(bottom), write: (a, b) => `${a}${between}${b}` };
	}
	const latex = latexFraction.exec(answer);
	if (latex === null) return null;
	const [, sign = '', command = '', top = '', bottom = ''] = latex;
	if (BigInt(bottom) === 0n) return null;
	const value = sign === '-' ? -BigInt(top) : BigInt(top);
	const write = (a: bigint, b: bigint) => `${a < 0n ? '-' : ''}${command}{${a < 0n ? -a : a}}{${b}}`;
	return { form: 'fraction', top: value, bottom: BigInt(bottom), write };
}

const option = /^(\(?)([A-Ja-j])(\)?[.):]?)$/;
/**
 * LaTeX commands that do not affect the meaning of a number in a tuple, set, interval, matrix or equation, each with
 * its one-character replacement.
 */
const signs: readonly (readonly [RegExp, string])[] = [
	[/\\(?:begin|end)\{[a-zA-Z]?matrix\}/g, '['],
	[/\\(?:left|right)\b/g, ''],
	[/\\text\{([^{}]*)\}/g, ' $1 '],
	[/\\leq?(?:slant)?\b/g, '≤'],
	[/\\geq?(?:slant)?\b/g, '≥'],
	[/\\lt\b/g, '<'],
	[/\\gt\b/g, '>'],
	[/\\cup\b/g, '∪'],
	[/\\infty\b/g, '∞'],
	[/\\pm\b/g, '±'],
	[/\\in\b/g, ','],
	[/\\\\/g, ';'],
	[/\\([{}])/g, '$1'],
	[/\\[,;! ]/g, ' '],
];
/** Matches the last number that is not part of a larger term. */
const standing =
	/^(.*(?:^|[([{,=<>≤≥;&±]|\\(?:pm|leq?|geq?|lt|gt|\\)|\bor|\band)\s*)([-+−]?\d+(?:\.\d+)?)(\s*(?:$|(?:\\right)?\\?[)\]},;].*|\\end\{.*))$/su;

function asStructure(answer: string): AnswerForm | null {
	const plain = signs.reduce((text, [pattern, sign]) => text.replace(pattern, sign), answer);
	// Changing a function argument or an exponent may have no effect (max(1, 5), 1^{5}). The same is true of a number
	// next to infinity.
	if (/\\|[A-Za-z]\s*\(|[\^_*∩]/u.test(plain) || (plain.includes('∪') && plain.includes('∞'))) return null;
	const relations = plain.match(/[=<>≤≥]/gu) ?? [];
	// One inequality can imply another, so changing a number may have no effect.
	if (relations.length > 1 && relations.some((sign) => sign !== '=') && /[,;]|\b(?:and|or)\b/.test(plain)) return null;
	if (!/[()[\]{},;=<>≤≥±]/u.test(plain)) return null;
	const match = standing.exec(answer);
	if (match === null) return null;
	const [, before = '', digits = '', after = ''] = match;
	if (/\d/.test(after)) return null;
	return parseDecimal(digits) && { form: 'structure', before, after };
}

const words = /(?<!\\)\b(?!(?:sin|cos|tan|log|exp|sqrt|frac|pi)\b)[A-Za-z]{3,}/;
const noNumber =
	/infty|\binf\b|\bnan\b|undefined|\\text|\\in\b|\\cup|\\cap|\\emptyset|\\pm|\\begin|\\equiv|\\pmod|\\(?:left|right)\s*\[/i;

function isExpression(answer: string): boolean {
	if (!/^[\d\s+\-*/^().{}\\a-zA-Z·×π√]+$/u.test(answer) || noNumber.test(answer)) return false;
	return !words.test(answer) && /[+\-*/^·×π√\\]|\d[a-z]/u.test(answer);
}

/** Matches equations like `y = 2x + 3`, where adding 1 to the right side gives a different equation. */
function isEquation(answer: string): boolean {
	const sides = answer.split('=');
	const [left = '', right = ''] = sides.map((side) => side.trim());
	if (sides.length !== 2 || left === '' || /[<>≤≥,;]|\\(?:l|g)(?:eq?|t)\b/u.test(answer)) return false;
	return isExpression(right) || /^[A-Za-z]$/.test(right);
}

/** Removes wrappers that do not change an answer: `$...$`, `\boxed{...}`. */
export function unwrapAnswer(answer: string): {
	readonly before: string;
	readonly inner: string;
	readonly after: string;
} {
	let [before, inner, after] = ['', answer.trim(), ''];
	for (let depth = 0; depth < 4 && inner.length <= longest; depth++) {
		const match = /^(\$+|\\\(|\\boxed\{)\s*(.*?)\s*(\$+|\\\)|\})$/su.exec(inner);
		if (match === null) break;
		const [, open = '', content = '', close = ''] = match;
		const closes = open.startsWith('$') ? close === open : close === (open === '\\(' ? '\\)' : '}');
		if (!closes || !isBalanced(content) || content.includes('$')) break;
		[before, inner, after] = [before + open, content, close + after];
	}
	return { before, inner, after };
}

function isBalanced(text: string): boolean {
	let depth = 0;
	for (const sign of text) {
		if (sign === '{') depth++;
		else if (sign === '}' && --depth < 0) return false;
	}
	return depth === 0;
}

/** Classifies an answer without tags. Takes linear time; answers of more than 400 characters are classified as text. */
export function answerForm(answer: string): AnswerForm {
	const trimmed = answer.trim();
	if (trimmed === '' || trimmed.length > longest) return { form: 'text', plain: !mathematical.test(trimmed) };
	const other = opposite.get(trimmed.toLowerCase());
	if (other !== undefined) return { form: 'opposite', other: likeCase(trimmed, other) };
	const letter = option.exec(trimmed);
	if (letter) {
		const [, before = '', it = '', after = ''] = letter;
		return { form: 'option', letter: it, write: (one) => `${before}${one}${after}` };
	}
	return (
		asQuantity(trimmed) ??
		asFraction(trimmed) ??
		asStructure(trimmed) ??
		(isExpression(trimmed) || isEquation(trimmed)
			? { form: 'expression' }
			: { form: 'text', plain: !mathematical.test(trimmed) })
	);
}
