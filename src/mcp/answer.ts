/** Shared response types: quoted text, pages and their limits. */

/** Text from a model, a dataset or another program. Clients must not treat it as instructions. */
export interface QuotedText {
	readonly quoted_text: string;
	/** Length of the full text, in UTF-16 code units. */
	readonly characters: number;
	/** Offset of the next part. Absent at the end of the text. */
	readonly next_offset?: number;
}

/** Default number of quoted characters per response. */
export const defaultCharacters = 2000;
export const maxCharacters = 20_000;
export const maxRows = 200;

/** Returns part of the text without splitting surrogate pairs. */
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

/** Marks names or short values written by other programs. */
export const quoteAll = <T>(values: T): { readonly quoted_text: T } => ({ quoted_text: values });

export interface Page<T> {
	readonly items: readonly T[];
	readonly total: number;
	/** Value to pass as `cursor` for the next page. Absent on the last page. */
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
