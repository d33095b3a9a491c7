import { parsePlainNumber } from './plainNumber.ts';
import * as Q from './rational.ts';
import { findBoxed } from './statedAnswer.ts';

export interface Verdict {
	/**
	 * 1 if the answers are equal, 0 if they differ or the prediction contains no answer, and null if the gold answer
	 * cannot be parsed.
	 */
	readonly value: 1 | 0 | null;
	/** One-sentence explanation for users. */
	readonly reason: string;
}

export const verdict = (value: Verdict['value'], reason: string): Verdict => ({ value, reason });

/** Formats an answer for a reason, on a single line of limited length. */
export function shownAnswer(text: string): string {
	const line = text.replace(/\s+/g, ' ').trim();
	return line.length > 60 ? `${line.slice(0, 59)}…` : line;
}

/**
 * Compares two plain numbers, bare or in a single box, with exact arithmetic. Takes microseconds and does not need the
 * parser. Returns null if the comparison is more complex than that.
 */
export function comparePlainNumbers(gold: string, prediction: string, sole = false): Verdict | null {
	if (gold.length > 40 || prediction.length > 20_000) return null;
	const a = parsePlainNumber(gold.trim());
	if (a === null) return null;
	let stated = prediction.trim();
	if (stated.length > 40 || stated.startsWith('\\')) {
		const boxes = findBoxed(stated);
		const last = boxes.at(-1);
		if (last === undefined || (boxes.length > 1 && (sole || boxes.some(({ content }) => content !== last.content))))
			return null;
		// Text after the box might belong to the answer.
		if (/^\s*\$?\s*(?:\\?%|[a-zA-Z^\\{(])/.test(stated.slice(last.end, last.end + 8))) return null;
		stated = last.content.trim();
	}
	const b = parsePlainNumber(stated);
	if (b === null || a.percent !== b.percent) return null;
	if (Q.equal(a.value, b.value)) return verdict(1, `Both equal ${Q.rationalText(a.value)}.`);
	// Numbers that might be rounded are left to the decimal rule.
	if (a.digits !== null || b.digits !== null) return null;
	return verdict(0, `${shownAnswer(stated)} is not ${shownAnswer(gold)}.`);
}
