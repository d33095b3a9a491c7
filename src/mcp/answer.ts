/** Shapes that all answers share: quoted text, pages and their limits. */

/** Text that a model, a dataset or another program wrote. Readers of an answer must not take it for instructions. */
export interface QuotedText {
	readonly quoted_text: string;
	/** Of the whole text, in UTF-16 code units. */
	readonly characters: number;
	/** Where the rest begins; absent: this is the end of the text. */
	readonly next_offset?: number;
}

/** Characters of quoted text in one answer, where the caller does not name a limit. */
export const defaultCharacters = 2000;
export const maxCharacters = 20_000;
export const maxRows = 200;

/** A part of a text; never half of a surrogate pair. */
export function quote(text: string, limit = defaultCharacters, offset = 0): QuotedText {
	let end = Math.min(text.length, offset + limit);
	const isHigh = (at: number) => (text.charCodeAt(at) & 0xfc00) === 0xd800;
	if (end < text.length && end > offset + 1 && isHigh(end - 1)) end--;
	return {
		quoted_text: text.slice(offset, end),
		characters: text.length,
		...(end < text.length ? { next_offset: end } : {}),
	};
}

export interface Page<T> {
	readonly items: readonly T[];
	readonly total: number;
	/** Argument `cursor` of the call for the next page; absent on the last one. */
	readonly next_cursor?: number;
}

export function pageOf<T>(items: readonly T[], cursor: number, limit: number): Page<T> {
	const end = cursor + limit;
	return {
		items: items.slice(cursor, end),
		total: items.length,
		...(end < items.length ? { next_cursor: end } : {}),
	};
}
