import { jsonLimits } from './decodingLimits.ts';

/** Text up to this length is too short to exceed the value limit or nest dangerously deep, so it is not checked. */
const harmless = 1000;

/**
 * `JSON.parse` for untrusted text. Counts values and nesting depth before parsing, because parsed values can take up to
 * 60 times as much memory as the text, and deep nesting overflows the stack in recursive code.
 * @throws SyntaxError for invalid JSON, too many values, or excessive nesting
 */
export function parseBoundedJson(text: string, limits: JsonLimits = {}): unknown {
	if (text.length > harmless) checkSize(text, limits);
	return JSON.parse(text);
}

export interface JsonLimits {
	readonly values?: number;
	readonly depth?: number;
}

function checkSize(text: string, { values = jsonLimits.values, depth: deepest = jsonLimits.depth }: JsonLimits) {
	let depth = 0;
	let count = 1;
	for (let at = 0; at < text.length; at++) {
		switch (text.charCodeAt(at)) {
			case 0x22: // "
				at = endOfString(text, at + 1);
				break;
			case 0x2c: // ,
				count++;
				break;
			case 0x5b: // [
			case 0x7b: // {
				count++;
				depth++;
				if (depth > deepest) throw new SyntaxError(`values are nested more than ${deepest} levels deep`);
				break;
			case 0x5d: // ]
			case 0x7d: // }
				depth--;
				break;
		}
		if (count > values) throw new SyntaxError(`more than ${values} values`);
	}
}

/** Returns the index of the closing quotation mark, or the text length if the string is unterminated. */
function endOfString(text: string, start: number): number {
	for (let from = start; ; ) {
		const end = text.indexOf('"', from);
		if (end === -1) return text.length;
		let slashes = 0;
		while (text.charCodeAt(end - 1 - slashes) === 0x5c && end - 1 - slashes >= start) slashes++;
		if (slashes % 2 === 0) return end;
		from = end + 1;
	}
}
