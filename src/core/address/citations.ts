import { findAddresses } from './findAddresses.ts';
import { type QuotedNumber, quotedNumbers } from './quotedNumber.ts';

/** An `rl://` address found in text, or in a link that opens it. */
export interface Citation {
	readonly address: string;
	/** Offset of the address or link in the text, in UTF-16 code units. */
	readonly offset: number;
	readonly length: number;
	/** 1-based. */
	readonly line: number;
	readonly column: number;
	/** Numbers that the text attributes to the address; see {@link findCitations}. */
	readonly numbers: readonly QuotedNumber[];
}

/** Maximum number of citations to find; the rest of the text is ignored. */
export const maxCitations = 10_000;

/**
 * Finds addresses in Markdown: in links, autolinks, code, and plain text. A citation's numbers are those in its link
 * text (`[0.62](rl://...)`). If there are none, the last number before the citation counts, provided that it is on the
 * same line and in the same sentence, with no other citation in between. Numbers that identify a location (`step 12`,
 * `group 3`) do not count.
 */
export function findCitations(text: string): Citation[] {
	const found: Citation[] = [];
	let start = 0;
	for (const [i, line] of text.split('\n').entries()) {
		let after = 0;
		for (const { address, offset, length } of findAddresses(line)) {
			if (found.length >= maxCitations) return found;
			const numbers = linkNumbers(line, offset) ?? lastNumber(line.slice(after, offset));
			found.push({ address, offset: start + offset, length, line: i + 1, column: offset + 1, numbers });
			after = offset + length;
		}
		start += line.length + 1;
	}
	return found;
}

/** Returns the numbers in the text of a link whose target starts at `at`; null if there is no link or no number. */
function linkNumbers(line: string, at: number): QuotedNumber[] | null {
	const opening = /\]\(<?$/.exec(line.slice(0, at));
	if (opening === null) return null;
	let depth = 0;
	for (let i = opening.index - 1; i >= 0; i--) {
		if (line[i] === ']') depth++;
		else if (line[i] === '[' && depth-- === 0) {
			const numbers = values(line.slice(i + 1, opening.index), line.slice(0, i));
			return numbers.length === 0 ? null : numbers;
		}
	}
	return null;
}

function lastNumber(before: string): QuotedNumber[] {
	// A sentence ends with punctuation and a space; "0.62" and "e.g. 0.62" do not end one.
	const sentence = before.split(/(?<=[^.\s][.!?])\s+(?=\p{Lu})/u).at(-1) ?? '';
	return values(sentence).slice(-1);
}

const places =
	/\b(?:steps?|groups?|completions?|nodes?|tokens?|rows?|trees?|rounds?|epochs?|seeds?|figures?|tables?)\s+(?:\d+\s*(?:to|-|\u2013|and|,)\s*)*$/i;

/** Returns the numbers in a text that do not identify a location. */
function values(text: string, before = ''): QuotedNumber[] {
	return quotedNumbers(text, before).filter(({ offset }) => !places.test(text.slice(0, offset)));
}
