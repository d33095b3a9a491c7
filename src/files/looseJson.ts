import { type JsonLimits, parseBoundedJson } from '../base/boundedJson.ts';

/**
 * Parses JSON as written by Python, reading the nonstandard tokens NaN, Infinity and -Infinity as null. Fails like
 * `JSON.parse` on any other error.
 */
export function parseLooseJson(text: string, limits: JsonLimits = {}): unknown {
	try {
		return parseBoundedJson(text, limits);
	} catch (error) {
		if (!text.includes('NaN') && !text.includes('Infinity')) throw error;
		return parseBoundedJson(withoutBareTokens(text), limits);
	}
}

/** Replaces bare tokens outside strings in a single linear pass. */
function withoutBareTokens(text: string): string {
	const parts: string[] = [];
	let at = 0;
	while (at < text.length) {
		const quote = text.indexOf('"', at);
		const end = quote === -1 ? text.length : quote;
		parts.push(text.slice(at, end).replace(/-?\b(?:NaN|Infinity)\b/g, 'null'));
		if (quote === -1) break;
		const close = closingQuote(text, quote + 1);
		parts.push(text.slice(quote, close + 1));
		at = close + 1;
	}
	return parts.join('');
}

function closingQuote(text: string, from: number): number {
	for (let close = text.indexOf('"', from); close !== -1; close = text.indexOf('"', close + 1)) {
		let backslashes = 0;
		while (text[close - 1 - backslashes] === '\\') backslashes++;
		if (backslashes % 2 === 0) return close;
	}
	return text.length - 1;
}
