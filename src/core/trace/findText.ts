export interface TextMatch {
	readonly start: number;
	readonly end: number;
}

/**
 * A pattern that finds a text as it stands, whatever its case. By simple case folding, so that a match is as long as what
 * it matches: `i` finds `I`, but `ss` does not find `ß`.
 */
export function textPattern(text: string): RegExp {
	return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
}

/** Where a text occurs, whatever its case, without overlaps; at most `limit` places. An empty text occurs nowhere. */
export function findText(haystack: string, text: string, limit = 10_000): TextMatch[] {
	const matches: TextMatch[] = [];
	if (text === '') return matches;
	for (const match of haystack.matchAll(textPattern(text))) {
		matches.push({ start: match.index, end: match.index + match[0].length });
		if (matches.length >= limit) break;
	}
	return matches;
}
