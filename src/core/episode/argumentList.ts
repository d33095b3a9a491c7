export interface WrittenArgument {
	/** null for a positional argument. */
	readonly key: string | null;
	readonly text: string;
}

const closing: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' };

/**
 * Splits the text between the parentheses of a call at its top-level commas: `50, unit="m"`. Returns null if quotes or
 * brackets are not balanced, or if an argument is empty. Takes linear time.
 */
export function argumentList(text: string): WrittenArgument[] | null {
	if (text.trim() === '') return [];
	const parts: WrittenArgument[] = [];
	const open: string[] = [];
	let quote: string | null = null;
	let start = 0;
	let equals = -1;
	/** Whether the part already contains an equals sign. Only the first one can follow a key. */
	let assigned = false;
	const add = (end: number): boolean => {
		const key = equals < 0 ? null : text.slice(start, equals).trim();
		const value = text.slice(equals < 0 ? start : equals + 1, end).trim();
		parts.push({ key, text: value });
		start = end + 1;
		equals = -1;
		assigned = false;
		return value !== '' && key !== '';
	};
	for (let at = 0; at < text.length; at++) {
		const character = text[at] as string;
		if (quote !== null) {
			if (character === '\\') at++;
			else if (character === quote) quote = null;
		} else if (character === '"' || character === "'") quote = character;
		else if (character in closing) open.push(closing[character] as string);
		else if (character === ')' || character === ']' || character === '}') {
			if (open.pop() !== character) return null;
		} else if (open.length === 0 && character === '=' && !assigned) {
			assigned = true;
			if (/^\s*[\p{L}_][\p{L}\p{N}_]*\s*$/u.test(text.slice(start, at))) equals = at;
		} else if (open.length === 0 && character === ',' && !add(at)) return null;
	}
	return quote === null && open.length === 0 && add(text.length) ? parts : null;
}
