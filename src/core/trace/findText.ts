export interface TextMatch {
	readonly start: number;
	readonly end: number;
}

/**
 * Returns a regex that finds literal text case-insensitively. It uses simple case folding, so matches have the same
 * length as the text: `i` finds `I`, but `ss` does not find `ß`.
 */
export function textPattern(text: string): RegExp {
	return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
}

/** Finds up to `limit` non-overlapping, case-insensitive occurrences of a string; none if it is empty. */
export function findText(haystack: string, text: string, limit = 10_000): TextMatch[] {
	const matches: TextMatch[] = [];
	if (text === '') return matches;
	for (const match of haystack.matchAll(textPattern(text))) {
		matches.push({ start: match.index, end: match.index + match[0].length });
		if (matches.length >= limit) break;
	}
	return matches;
}
