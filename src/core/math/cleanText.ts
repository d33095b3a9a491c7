import { groupEnd } from './brackets.ts';
import { withoutFullWidth } from './fullWidth.ts';

/** Characters that have no width or only control text direction. */
const invisible =
	/\u034f|[\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]|[\ufe00-\ufe0f]/g;

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱˣ';
const superscriptValues = '0123456789+-=()nix';
const subscripts = '₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙₖᵢ';
const subscriptValues = '0123456789+-=()nki';

const fractions: Readonly<Record<string, string>> = {
	'½': '1}{2',
	'⅓': '1}{3',
	'⅔': '2}{3',
	'¼': '1}{4',
	'¾': '3}{4',
	'⅕': '1}{5',
	'⅖': '2}{5',
	'⅗': '3}{5',
	'⅘': '4}{5',
	'⅙': '1}{6',
	'⅚': '5}{6',
	'⅐': '1}{7',
	'⅛': '1}{8',
	'⅜': '3}{8',
	'⅝': '5}{8',
	'⅞': '7}{8',
	'⅑': '1}{9',
	'⅒': '1}{10',
};

/** LaTeX replacements for single characters. Digits in other scripts do not count as digits: see docs/accuracy.md. */
const characters: Readonly<Record<string, string>> = {
	'−': '-',
	'‐': '-',
	'‑': '-',
	'–': '-',
	'—': '-',
	'﹣': '-',
	'×': '\\times ',
	'✕': '\\times ',
	'·': '\\cdot ',
	'⋅': '\\cdot ',
	'∙': '\\cdot ',
	'∗': '*',
	'÷': '/',
	'∕': '/',
	'⁄': '/',
	'≈': '\\approx ',
	'≃': '\\approx ',
	'≅': '\\approx ',
	'≠': '\\ne ',
	'≤': '\\le ',
	'≦': '\\le ',
	'⩽': '\\le ',
	'≥': '\\ge ',
	'≧': '\\ge ',
	'⩾': '\\ge ',
	'≡': '\\equiv ',
	'±': '\\pm ',
	'∓': '\\mp ',
	'∞': '\\infty ',
	π: '\\pi ',
	'∪': '\\cup ',
	'∩': '\\cap ',
	'∈': '\\in ',
	'∖': '\\setminus ',
	'∅': '\\emptyset ',
	ℝ: '\\mathbb{R}',
	ℤ: '\\mathbb{Z}',
	ℕ: '\\mathbb{N}',
	ℚ: '\\mathbb{Q}',
	ℂ: '\\mathbb{C}',
	'°': '^{\\circ}',
	º: '^{\\circ}',
	'∘': '^{\\circ}',
	'∣': '|',
	'⟨': '\\langle ',
	'⟩': '\\rangle ',
	'〈': '\\langle ',
	'〉': '\\rangle ',
	'⌊': '\\lfloor ',
	'⌋': '\\rfloor ',
	'⌈': '\\lceil ',
	'⌉': '\\rceil ',
	'∑': '\\sum ',
	'∏': '\\prod ',
	'∫': '\\int ',
	'∧': ' and ',
	'∨': ' or ',
	'…': '\\ldots ',
	'、': ',',
	'。': '.',
	'“': '"',
	'”': '"',
	'‘': "'",
	'’': "'",
	'′': "'",
	'″': "''",
	α: '\\alpha ',
	β: '\\beta ',
	γ: '\\gamma ',
	δ: '\\delta ',
	ε: '\\epsilon ',
	θ: '\\theta ',
	λ: '\\lambda ',
	μ: '\\mu ',
	ρ: '\\rho ',
	σ: '\\sigma ',
	τ: '\\tau ',
	φ: '\\phi ',
	ϕ: '\\phi ',
	ω: '\\omega ',
	Δ: '\\Delta ',
	Ω: '\\Omega ',
};
const characterPattern = new RegExp(`[${Object.keys(characters).join('')}]`, 'gu');
const superscriptPattern = new RegExp(`[${superscripts}]+`, 'g');
const subscriptPattern = new RegExp(`[${subscripts}]+`, 'g');
const fractionPattern = new RegExp(`[${Object.keys(fractions).join('')}]`, 'g');

/** Replaces Unicode superscripts, fractions, operators, and spaces with LaTeX. Removes all invisible characters. */
export function replaceCharacters(text: string): string {
	return withoutFullWidth(text)
		.normalize('NFC')
		.replace(invisible, '')
		.replace(/[\s\u00a0\u2000-\u200a\u202f\u205f\u3000]+/g, ' ')
		.replace(
			superscriptPattern,
			(run) => `^{${[...run].map((c) => superscriptValues[superscripts.indexOf(c)]).join('')}}`,
		)
		.replace(subscriptPattern, (run) => `_{${[...run].map((c) => subscriptValues[subscripts.indexOf(c)]).join('')}}`)
		.replace(fractionPattern, (c) => `\\frac{${fractions[c]}}`)
		.replace(/([√∛∜])\s*/g, (_, root: string) =>
			root === '√' ? '\\sqrt ' : root === '∛' ? '\\sqrt[3] ' : '\\sqrt[4] ',
		)
		.replace(characterPattern, (c) => characters[c] as string);
}

const functionWords =
	'arcsin|arccos|arctan|asin|acos|atan|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|log|ln|lg|exp|max|min|gcd|lcm';
const plainFunction = new RegExp(`(?<![\\\\a-zA-Z])(${functionWords})(?=[\\s(^_{0-9\\\\]|[a-z](?![a-z]))`, 'g');
const arcs: Readonly<Record<string, string>> = { asin: 'arcsin', acos: 'arccos', atan: 'arctan' };

/** Replaces `name(…)` with `open…close`, matching nested brackets. */
function replaceCall(text: string, name: RegExp, replacement: (inside: string) => string): string {
	let result = '';
	let from = 0;
	for (const match of text.matchAll(name)) {
		if (match.index < from) continue;
		const open = match.index + match[0].length;
		const end = text[open] === '(' ? groupEnd(text, open) : -1;
		if (end < 0) continue;
		result += text.slice(from, match.index) + replacement(replaceCall(text.slice(open + 1, end), name, replacement));
		from = end + 1;
	}
	return result + text.slice(from);
}

/**
 * Normalizes the spelling of an answer: converts Unicode and plain-text math to LaTeX, writes text as `\text{…}`, and
 * removes math delimiters and commands for size, style, and spacing. The value is unchanged.
 */
export function cleanText(text: string): string {
	let t = replaceCharacters(text);
	// A double backslash before a letter comes from text that was escaped twice; in a matrix, it ends a row.
	if (t.includes('\\begin')) t = t.replace(/\\\\(?:\[[^\]]{0,12}\])?/g, '\\cr ');
	else t = t.replace(/\\\\(?=[a-zA-Z({[])/g, '\\').replace(/\\\\(?=[,;!% ])/g, ' ');
	t = t
		.replace(/\\n(?![a-zA-Z])/g, ' ')
		.replace(/\*\*(?=[^*]*?\*\*)([^*]*?)\*\*/g, (whole, inside: string, at: number) =>
			/[\w)}\]]/.test(t[at - 1] ?? '') && /^[\w({-]/.test(inside) ? whole : inside,
		)
		.replace(/(?<=[\w)}\]])\s?\*\*\s?(?=[\w({-])/g, '^')
		.replace(/`/g, '')
		// Math delimiters and currency.
		.replace(/\\[()]/g, ' ')
		.replace(/\\\[(?!\d*(?:ex|em|pt)\])|\\\]/g, ' ')
		.replace(/\\\$/g, '$')
		.replace(/\\([%#&_])/g, '$1')
		// Sizes and styles.
		.replace(/\\(?:left|right)\s*\./g, '')
		.replace(
			/\\(?:left|right|[bB]igg?[lrm]?|displaystyle|textstyle|scriptstyle|limits|nolimits|mathstrut|strut)(?![a-zA-Z])/g,
			'',
		)
		.replace(/\\l?brace(?![a-zA-Z])/g, '\\{')
		.replace(/\\rbrace(?![a-zA-Z])/g, '\\}')
		.replace(/\\(?:[lr]?vert|mid|lvert|rvert)(?![a-zA-Z])/g, '|')
		.replace(/\\(?:dfrac|tfrac|cfrac)(?![a-zA-Z])/g, '\\frac')
		.replace(/\\(?:dbinom|tbinom)(?![a-zA-Z])/g, '\\binom')
		.replace(/\\(?:lt)(?![a-zA-Z])/g, '<')
		.replace(/\\(?:gt)(?![a-zA-Z])/g, '>')
		.replace(/\\(?:leqslant|leqq|leq)(?![a-zA-Z])/g, '\\le ')
		.replace(/\\(?:geqslant|geqq|geq)(?![a-zA-Z])/g, '\\ge ')
		.replace(/\\(?:neq)(?![a-zA-Z])|\\not\s*=|!=/g, '\\ne ')
		.replace(/<=|=</g, '\\le ')
		.replace(/>=|=>/g, '\\ge ')
		.replace(/\\(?:dots|dotsc|dotsb|cdots|ldots)(?![a-zA-Z])|\.{3,}/g, '\\ldots ')
		.replace(/\\(?:infin)(?![a-zA-Z])/g, '\\infty')
		.replace(/\\(?:varnothing)(?![a-zA-Z])/g, '\\emptyset')
		.replace(/\\(?:backslash|smallsetminus)(?![a-zA-Z])/g, '\\setminus')
		.replace(/\\(?:land|wedge)(?![a-zA-Z])/g, ' and ')
		.replace(/\\(?:lor|vee)(?![a-zA-Z])/g, ' or ')
		.replace(/\\(?:bar)(?![a-zA-Z])/g, '\\overline')
		.replace(/\\(?:Reals|R)(?![a-zA-Z])/g, '\\mathbb{R}')
		.replace(/\\degree(?![a-zA-Z])|\^\s*\\circ(?![a-zA-Z])|\^\s*\{\s*\\circ\s*\}/g, '^{\\circ}')
		// Thousands: 1{,}000, 1,\!000, 1\,000.
		.replace(/(?<=\d)\s?(?:\{\s?,\s?\}|,\s?\\!|\\,|,\\,)\s?(?=\d{3}(?!\d))/g, '')
		.replace(/\{\s?,\s?\}/g, ',')
		// x = 1 \quad x = 2
		.replace(/(?<![,;\s]|and|or)\s*\\q?quad\s*(?=[a-zA-Z](?:_\S+)?\s?=)/g, ', ')
		.replace(
			/\\[,;:!> ]|\\(?:quad|qquad|thinspace|enspace|enskip|hfill)(?![a-zA-Z])|\\(?:hspace|vspace|phantom|hphantom)\*?\{[^{}]*\}|~/g,
			' ',
		)
		.replace(/\\(?:[ ])/g, ' ')
		.replace(/\\tag\*?\{[^{}]*\}|\\(?:label|ref)\{[^{}]*\}/g, '');
	t = unwrapStyles(t);
	// A letter with an accent is a different letter.
	t = t.replace(
		/\\(dot|ddot|tilde|widetilde|widehat|hat|check|breve|acute|grave|overline) ?(?:\{ ?([a-zA-Z]|\\[a-zA-Z]+) ?\}|([a-zA-Z]))(?: ?_ ?(?:\{ ?(\w+) ?\}|(\w)))?(?=(.?))/g,
		(
			whole,
			accent: string,
			braced: string | undefined,
			bare: string | undefined,
			long: string | undefined,
			short: string | undefined,
		) =>
			accent === 'overline' && (long ?? short) === undefined
				? whole
				: `${braced ?? bare}_{${long ?? short ?? ''}${accent}}`,
	);
	t = removeDollars(t);
	t = t
		.replace(/(?<![\\a-zA-Z])(?:pi)(?![a-zA-Z])/g, '\\pi ')
		.replace(/(?<![\\a-zA-Z])(?:infinity|infty|inf|oo)(?![a-zA-Z])/gi, '\\infty ');
	t = replaceCall(t, /(?<![\\a-zA-Z])sqrt(?=\()/g, (inside) => `\\sqrt{${inside}}`);
	t = replaceCall(t, /(?<![\\a-zA-Z])cbrt(?=\()/g, (inside) => `\\sqrt[3]{${inside}}`);
	t = replaceCall(t, /(?<![\\a-zA-Z])abs(?=\()/g, (inside) => `|${inside}|`);
	t = replaceCall(t, /\\sqrt ?(?=\()/g, (inside) => `\\sqrt{${inside}}`);
	t = replaceCall(t, /\\sqrt\[3\] ?(?=\()/g, (inside) => `\\sqrt[3]{${inside}}`);
	// A root sign before an integer applies to the entire integer, not just its first digit.
	t = t.replace(
		/\\sqrt(\[\d+\])? +(\d+(?:\.\d+)?)/g,
		(_, index: string | undefined, digits: string) => `\\sqrt${index ?? ''}{${digits}}`,
	);
	t = t.replace(plainFunction, (_, name: string) => `\\${arcs[name] ?? name} `);
	t = replaceCall(t, /\^ ?(?=\()/g, (inside) => `^{${inside}}`);
	t = t
		.replace(/\^ ?(-?\d+(?:\.\d+)?)/g, (whole, digits: string) => (digits.length > 1 ? `^{${digits}}` : whole))
		.replace(/\^ ?(-[a-zA-Z])(?![a-zA-Z])/g, '^{$1}')
		.replace(
			/(?<![\w.)}])(\d+) ?\/ ?(\d+)(?=\s?(?:[a-zA-Z(]|\\(?:pi|sqrt|theta|alpha|sin|cos|tan|ln|log)))/g,
			'\\frac{$1}{$2}',
		);
	return t.replace(/\s+/g, ' ').trim();
}

/** Commands that style the contents of their braces. Commands for words become `\text{…}`. */
const styles =
	/\\(mathrm|text|textbf|textit|textrm|textsf|texttt|textnormal|textup|mbox|hbox|rm|bf|it|mathbf|mathit|mathsf|mathtt|mathcal|mathnormal|bm|boldsymbol|operatorname|operatorname\*|boxed|fbox|underline|emph|overrightarrow|overleftarrow|vec|hat|mathop|ensuremath|color|textcolor)(?![a-zA-Z])\*?\s*/g;
const words = new Set([
	'mathrm',
	'text',
	'textbf',
	'textit',
	'textrm',
	'textsf',
	'texttt',
	'textnormal',
	'textup',
	'mbox',
	'hbox',
	'emph',
	'operatorname',
	'operatorname*',
	'mathop',
]);

function unwrapStyles(text: string, depth = 0): string {
	if (!text.includes('\\') || depth > 8) return text;
	let result = '';
	let from = 0;
	for (const match of text.matchAll(styles)) {
		if (match.index < from) continue;
		const name = match[1] as string;
		let open = match.index + match[0].length;
		result += text.slice(from, match.index);
		from = open;
		if (name === 'color' || name === 'textcolor') {
			const end = text[open] === '{' ? groupEnd(text, open) : -1;
			if (end < 0) continue;
			open = end + 1;
			from = open;
			if (name === 'color') continue;
		}
		const end = text[open] === '{' ? groupEnd(text, open) : -1;
		if (end < 0) continue; // No braces follow, as in {\rm …} and \mathbf v.
		const raw = text.slice(open + 1, end);
		from = end + 1;
		if (!words.has(name)) {
			result += `{${unwrapStyles(raw, depth + 1)}}`.replace(/^\{([a-zA-Z])\}$/, ' $1');
			continue;
		}
		// Treat `sec` and `min` as seconds and minutes, unless followed by something that could be a function argument.
		const isUnit = /^(?:min|sec)$/.test(raw.trim()) && !/^\s*[\w(\\{]/.test(text.slice(from, from + 4));
		result += isUnit ? `\\text{${raw.trim()}}` : wordText(unwrapStyles(raw, depth + 1), name);
	}
	return result + text.slice(from);
}

const knownOperator = new RegExp(`^(?:${functionWords}|arccot|arcsec|arccsc|det|arg|deg)$`);

/** Converts the contents of a text command: words remain text, and embedded math becomes math. */
function wordText(inside: string, command: string): string {
	const content = inside.replace(/\s+/g, ' ');
	const bare = content.trim();
	if (knownOperator.test(bare) && (content === bare || command.startsWith('operatorname')))
		return `\\${arcs[bare] ?? bare} `;
	if (bare === '') return ' ';
	const joined = /^(.*\S) (and|or)$/.exec(bare);
	if (joined !== null && /\s$/.test(content))
		return `\\text{${content.slice(0, content.lastIndexOf(joined[2] as string)).trimEnd()}} ${joined[2]} `;
	if (/^(?:and|or)$/i.test(bare) || /^[,;]? ?(?:and|or)$/i.test(bare)) return ` ${bare} `;
	if (/^[eid]$/.test(bare) && (command === 'mathrm' || command === 'operatorname')) return ` ${bare} `;
	if (/[\\^_$={}]/.test(bare) || !/[a-zA-Z]{2,}|[a-zA-Z]|[^\x20-\x7e]/.test(bare)) return ` ${bare} `;
	return `\\text{${content}}`;
}

/** Removes math delimiters. A dollar sign before or after a lone number denotes a currency and is kept. */
function removeDollars(text: string): string {
	if (!text.includes('$')) return text;
	const count = text.split('$').length - 1;
	if (count % 2 === 0 && !/^\s*\$\s?[\d.,]+\s*(?:-|to|and|or|,)\s*\$\s?[\d.,]+\s*$/.test(text))
		return text.replaceAll('$', ' ');
	return text.replace(/\$(?=\s?-?[\d.])/g, '\\text{dollar}').replaceAll('$', ' ');
}
