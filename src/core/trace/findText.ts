export interface TextMatch {
	readonly start: number;
	readonly end: number;
}

/**
 * A pattern that finds a literal text case-insensitively. It uses simple case folding, so that a match has the same
 * length: `i` finds `I`, but `ss` does not find `ß`.
 */
export function textPattern(text: string): RegExp {
	return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
}

/** Non-overlapping, case-insensitive occurrences of a text, up to `limit`. An empty text never occurs. */
export function findText(haystack: string, text: string, limit = 10_000): TextMatch[] {
	const matches: TextMatch[] = [];
	if (text === '') return matches;
	for (const match of haystack.matchAll(textPattern(text))) {
		matches.push({ start: match.index, end: match.index + match[0].length });
		if (matches.length >= limit) break;
	}
	return matches;
}
