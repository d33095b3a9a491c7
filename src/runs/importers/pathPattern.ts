/** One segment of a pattern: `**`, a plain name, or an expression. */
type Segment =
	| { readonly kind: 'any' }
	| { readonly kind: 'name'; readonly name: string }
	| {
			readonly kind: 'match';
			readonly expression: RegExp;
			readonly names: readonly string[];
			readonly hidden: boolean;
	  };

/** What the `{name}` parts of a pattern matched. */
export type PathParts = Readonly<Record<string, string>>;

/**
 * Which paths of a folder a format reads: "rollouts/{step}.jsonl". `{name}` and `*` match within one segment, `{step}`
 * digits, `**` any folders. Hidden names match only a segment that begins with a dot, or no name at all would be safe from
 * a wildcard: `.git` holds a hundred thousand files.
 */
export class PathPattern {
	readonly text: string;
	readonly segments: readonly Segment[];
	/** Which segment holds `{step}`; -1: none. */
	readonly stepSegment: number;

	constructor(text: string) {
		this.text = text;
		this.segments = text.split('/').map(segmentOf);
		this.stepSegment = this.segments.findIndex((segment) => segment.kind === 'match' && segment.names.includes('step'));
	}

	/** What a name matches of a segment; null: it does not. */
	part(segment: number, name: string): PathParts | null {
		const known = this.segments[segment];
		if (known === undefined || known.kind === 'any') return null;
		if (known.kind === 'name') return known.name === name ? {} : null;
		if (name.startsWith('.') && !known.hidden) return null;
		const match = known.expression.exec(name);
		if (match === null) return null;
		return Object.fromEntries(known.names.map((part, i) => [part, match[i + 1] ?? '']));
	}

	/** What a whole path matches; null: it does not. */
	match(path: string): PathParts | null {
		return this.#matchFrom(path.split('/'), 0, 0);
	}

	#matchFrom(names: readonly string[], at: number, segment: number): PathParts | null {
		const known = this.segments[segment];
		if (known === undefined) return at === names.length ? {} : null;
		if (known.kind === 'any') {
			for (let next = at; next <= names.length; next++) {
				if (next > at && names[next - 1]?.startsWith('.')) return null;
				const rest = this.#matchFrom(names, next, segment + 1);
				if (rest !== null) return rest;
			}
			return null;
		}
		const name = names[at];
		const part = name === undefined ? null : this.part(segment, name);
		if (part === null) return null;
		const rest = this.#matchFrom(names, at + 1, segment + 1);
		return rest === null ? null : { ...part, ...rest };
	}
}

function segmentOf(text: string): Segment {
	if (text === '**') return { kind: 'any' };
	if (!/[{*]/.test(text)) return { kind: 'name', name: text };
	const names: string[] = [];
	const source = text.replace(/\{(\w+)\}|\*|[^{}*]+|[{}]/g, (piece, name: string | undefined) => {
		if (piece === '*') return '[^/]*';
		if (name === undefined) return piece.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
		names.push(name);
		return name === 'step' ? '(\\d{1,15})' : '([^/]+?)';
	});
	return { kind: 'match', expression: new RegExp(`^${source}$`, 'su'), names, hidden: text.startsWith('.') };
}

/** The path that a pattern without wildcards names, by the parts of another path; null: it names a part that is missing. */
export function filledPath(pattern: string, parts: PathParts): string | null {
	let whole = true;
	const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
		const part = parts[name];
		if (part === undefined) whole = false;
		return part ?? '';
	});
	return whole ? path : null;
}

/** The step in what a pattern matched; null: it has none. */
export function stepIn(parts: PathParts): number | null {
	return parts.step === undefined ? null : Number(parts.step);
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/** Names as people count: `step_2` before `step_10`. The same numbers in other digits keep a fixed order, too. */
export function compareNames(a: string, b: string): number {
	let at = 0;
	while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
	// Both are within a number, or one has just ended.
	let start = at;
	while (start > 0 && isDigit(a.charCodeAt(start - 1))) start--;
	const left = digitsFrom(a, start);
	const right = digitsFrom(b, start);
	if (left !== '' && right !== '') {
		const one = left.replace(/^0+/, '');
		const other = right.replace(/^0+/, '');
		const difference = one.length - other.length || (one < other ? -1 : one > other ? 1 : 0);
		if (difference !== 0) return difference;
	}
	return a < b ? -1 : a > b ? 1 : 0;
}

function digitsFrom(text: string, start: number): string {
	let end = start;
	while (end < text.length && isDigit(text.charCodeAt(end))) end++;
	return text.slice(start, end);
}
