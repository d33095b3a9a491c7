/** A piece of text in a Markdown block. */
export type Inline =
	| { readonly kind: 'text'; readonly text: string }
	| { readonly kind: 'code'; readonly text: string }
	| { readonly kind: 'strong' | 'emphasis'; readonly content: readonly Inline[] }
	| { readonly kind: 'link'; readonly target: string; readonly content: readonly Inline[] }
	| { readonly kind: 'image'; readonly target: string; readonly text: string };

/** Maximum nesting depth of emphasis and links; deeper markup is shown literally. */
const maxDepth = 6;
/** Maximum length of a span between its delimiters. */
const maxSpan = 1000;

/** Characters that can start something other than plain text. */
const special = /[\\`*_[!<]|\brl:\/\//g;

/** Parses the text of a block: code, emphasis, links, images, and addresses (`rl://`) in plain text. */
export function parseInline(text: string, depth = 0): Inline[] {
	const parts: Inline[] = [];
	let [plain, at] = ['', 0];
	const flush = () => {
		if (plain !== '') parts.push({ kind: 'text', text: plain });
		plain = '';
	};
	while (at < text.length) {
		special.lastIndex = at;
		const next = depth >= maxDepth ? null : special.exec(text);
		if (next === null) break;
		plain += text.slice(at, next.index);
		const found = partAt(text, next.index, depth);
		if (found === null) {
			const escaped = text[next.index] === '\\' && /[!-/:-@[-`{-~]/.test(text[next.index + 1] ?? '');
			plain += escaped ? (text[next.index + 1] as string) : (text[next.index] as string);
			at = next.index + (escaped ? 2 : 1);
			continue;
		}
		flush();
		parts.push(found.part);
		at = found.end;
	}
	plain += text.slice(at);
	flush();
	return parts;
}

interface Found {
	readonly part: Inline;
	readonly end: number;
}

function partAt(text: string, at: number, depth: number): Found | null {
	const rest = text.slice(at, at + maxSpan);
	switch (rest[0]) {
		case '`':
			return match(rest, at, /^(`+)(?!`)([\s\S]*?[^`])\1(?!`)/, ([, , code = '']) => ({
				kind: 'code',
				text: /^ .*[^ ].* $/s.test(code) ? code.slice(1, -1) : code,
			}));
		case '!':
			return match(
				rest,
				at,
				/^!\[([^\]\n]*)\]\(<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?\)/,
				([, alt = '', target = '']) => ({
					kind: 'image',
					target,
					text: alt,
				}),
			);
		case '[':
			return linkAt(rest, at, depth);
		case '<':
			return match(rest, at, /^<((?:rl|https?):\/\/[^\s<>]*)>/, ([, target = '']) => ({
				kind: 'link',
				target,
				content: [{ kind: 'text', text: target }],
			}));
		case '*':
		case '_':
			return emphasisAt(text, rest, at, depth);
		case 'r':
			return match(rest, at, /^rl:\/\/[^\s<>"'`|\\^{}]*[^\s<>"'`|\\^{}.,;:!?*_~)\]]/, ([target = '']) => ({
				kind: 'link',
				target,
				content: [{ kind: 'text', text: target }],
			}));
		default:
			return null;
	}
}

/** A link, whose text can contain balanced brackets. */
function linkAt(rest: string, at: number, depth: number): Found | null {
	let open = 0;
	for (let i = 0; i < rest.length; i++) {
		if (rest[i] === '\\') i++;
		else if (rest[i] === '[') open++;
		else if (rest[i] === ']' && --open === 0) {
			const target = /^\(<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:[ \t]+"[^"\n]*")?\)/.exec(rest.slice(i + 1));
			if (target === null) return null;
			const content = parseInline(rest.slice(1, i), depth + 1);
			return { part: { kind: 'link', target: target[1] as string, content }, end: at + i + 1 + target[0].length };
		}
	}
	return null;
}

function emphasisAt(text: string, rest: string, at: number, depth: number): Found | null {
	// Underscores within a word (snake_case) are not emphasis.
	if (rest[0] === '_' && /\w/.test(text[at - 1] ?? '')) return null;
	const strong = /^(\*\*|__)(?=\S)([\s\S]*?\S)\1(?!\w)/.exec(rest);
	const found = strong ?? /^(\*|_)(?=[^\s*_])([\s\S]*?[^\s*_])\1(?!\w)/.exec(rest);
	if (found === null) return null;
	const content = parseInline(found[2] as string, depth + 1);
	return { part: { kind: strong === null ? 'emphasis' : 'strong', content }, end: at + found[0].length };
}

function match(rest: string, at: number, pattern: RegExp, part: (found: RegExpExecArray) => Inline): Found | null {
	const found = pattern.exec(rest);
	return found === null ? null : { part: part(found), end: at + found[0].length };
}
