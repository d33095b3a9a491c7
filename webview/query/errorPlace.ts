/** Position of an error in a statement. */
export interface ErrorPlace {
	/** 1-based line number. */
	readonly line: number;
	/** Offset in characters from the start of the statement. */
	readonly start: number;
	readonly end: number;
}

/**
 * Finds the position that DuckDB marks in an error message: "LINE 2: ...from rollout where", followed by a caret on the
 * next line. DuckDB quotes only part of a long line. Returns null if no position is marked or the quoted text is not in
 * the statement.
 */
export function errorPlace(message: string, sql: string): ErrorPlace | null {
	const match = /LINE (\d+): ([^\n]*)\n( *)\^/.exec(message);
	if (!match) return null;
	const [, number = '', quoted = '', spaces = ''] = match;
	const line = Number(number);
	const lines = sql.split('\n');
	const text = lines[line - 1];
	if (text === undefined) return null;
	const cut = quoted.startsWith('...') ? 3 : 0;
	const part = quoted.slice(cut).replace(/\.\.\.$/, '');
	const at = text.indexOf(part.trimEnd());
	if (at < 0) return null;
	// The caret position is relative to the whole line, including "LINE 2: ".
	const column = at + lengthOfWidth(part, spaces.length - `LINE ${number}: `.length - cut);
	const before = lines.slice(0, line - 1).reduce((sum, { length }) => sum + length + 1, 0);
	const word = /^(?:"[^"]*"|'[^']*'|[\w.]+|\S)/.exec(text.slice(column))?.[0] ?? '';
	return { line, start: before + column, end: before + column + word.length };
}

const wide = /[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}\p{Extended_Pictographic}]/u;
const unseen = /[\p{Cc}\p{Mn}\p{Cf}]/u;

/**
 * Returns how many code units fit in a terminal width, which DuckDB uses to position the caret. Tabs have zero width.
 */
function lengthOfWidth(text: string, width: number): number {
	let [length, rest] = [0, width];
	for (const character of text) {
		const own = unseen.test(character) ? 0 : wide.test(character) ? 2 : 1;
		if (rest < own || (rest === 0 && own > 0)) break;
		rest -= own;
		length += character.length;
	}
	return length;
}

/** Returns the error message without the lines that mark the position. */
export function errorWords(message: string): string {
	return message.replace(/\s*LINE \d+: [^\n]*\n *\^/, '').trim();
}
