/** A pattern segment: `**`, a plain name, or a regular expression. */
type Segment =
	| { readonly kind: 'any' }
	| { readonly kind: 'name'; readonly name: string }
	| {
			readonly kind: 'match';
			readonly expression: RegExp;
			readonly names: readonly string[];
			readonly hidden: boolean;
	  };

/** Values matched by the `{name}` parts of a pattern. */
export type PathParts = Readonly<Record<string, string>>;

/**
 * Pattern for the paths that a format reads: "rollouts/{step}.jsonl". `{name}` and `*` match within one segment,
 * `{step}` matches digits, and `**` matches any number of folders. Hidden names match only segments that start with a
 * dot; otherwise wildcards would match folders such as `.git`, which can contain a hundred thousand files.
 */
export class PathPattern {
	readonly text: string;
	readonly segments: readonly Segment[];
	/** Index of the segment with `{step}`, or -1. */
	readonly stepSegment: number;

	constructor(text: string) {
		this.text = text;
		this.segments = text.split('/').map(segmentOf);
		this.stepSegment = this.segments.findIndex((segment) => segment.kind === 'match' && segment.names.includes('step'));
	}

	/** Matches a name against a segment; returns null if it does not match. */
	part(segment: number, name: string): PathParts | null {
		const known = this.segments[segment];
		if (known === undefined || known.kind === 'any') return null;
		if (known.kind === 'name') return known.name === name ? {} : null;
		if (name.startsWith('.') && !known.hidden) return null;
		const match = known.expression.exec(name);
		if (match === null) return null;
		return Object.fromEntries(known.names.map((part, i) => [part, match[i + 1] ?? '']));
	}

	/** Matches a complete path; returns null if it does not match. */
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

/** Fills in a pattern that has no wildcards with the parts of another path, or returns null if a part is missing. */
export function filledPath(pattern: string, parts: PathParts): string | null {
	let whole = true;
	const path = pattern.replace(/\{(\w+)\}/g, (_, name: string) => {
		const part = parts[name];
		if (part === undefined) whole = false;
		return part ?? '';
	});
	return whole ? path : null;
}

/** Returns the step in the matched parts, or null if there is none. */
export function stepIn(parts: PathParts): number | null {
	return parts.step === undefined ? null : Number(parts.step);
}

const isDigit = (code: number) => code >= 0x30 && code <= 0x39;

/**
 * Compares names in natural order: `step_2` before `step_10`. Numbers that are equal but written differently (`1`,
 * `01`) also sort in a fixed order.
 */
export function compareNames(a: string, b: string): number {
	let at = 0;
	while (at < a.length && a.charCodeAt(at) === b.charCodeAt(at)) at++;
	// Either both positions are within a number, or one number has just ended.
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
