import { normalizeAnswer } from '../../dataset/answer.ts';
import type { ProbeRow } from './probe.ts';

/** Returns the value of a plain decimal number or fraction, otherwise null. */
export function numberOf(text: string): number | null {
	const bare = text.trim().replaceAll(',', '');
	const fraction = /^([+-]?\d{1,15})\/(\d{1,15})$/.exec(bare);
	if (fraction) return Number(fraction[2]) === 0 ? null : Number(fraction[1]) / Number(fraction[2]);
	return /^[+-]?\d{1,15}(?:\.\d{1,15})?$/.test(bare) ? Number(bare) : null;
}

/** Returns whether two strings clearly give the same answer. */
export function sameAnswer(a: string, b: string): boolean {
	const [x, y] = [numberOf(a), numberOf(b)];
	if (x !== null && y !== null) return Math.abs(x - y) <= 1e-9 * Math.max(1, Math.abs(x));
	return normalizeAnswer(a).toLowerCase() === normalizeAnswer(b).toLowerCase();
}

/** Returns at least `count` wrong answers for a row, starting with the row's own. */
export function wrongAnswers(row: ProbeRow, count: number): string[] {
	const wrong = row.wrong.filter((text) => text.trim() !== '' && !sameAnswer(text, row.answer));
	const value = numberOf(row.answer);
	for (let i = 1; wrong.length < count; i++) {
		const made = value === null ? `something else ${i}` : String(Math.round(value) + i);
		if (!sameAnswer(made, row.answer) && !wrong.includes(made)) wrong.push(made);
	}
	return wrong.slice(0, count);
}

export function wrongAnswer(row: ProbeRow): string {
	return wrongAnswers(row, 1)[0] as string;
}

/** Returns `count` candidates, with the correct answer at the given position and wrong answers elsewhere. */
export function candidates(row: ProbeRow, count: number, place: 'first' | 'middle' | 'last'): string[] {
	const list = wrongAnswers(row, count - 1);
	list.splice(place === 'first' ? 0 : place === 'last' ? count - 1 : count >> 1, 0, row.answer);
	return list;
}

/** Returns the distinct numbers in text, in order, up to 50. */
export function numbersIn(text: string): string[] {
	return [...new Set(text.match(/\d+(?:\.\d+)?/g) ?? [])].slice(0, 50);
}

/**
 * Returns wrong answers with exactly the same length as the correct one: the row's own, and the correct one with its
 * last letter or digit changed. Returns none for an answer without letters or digits.
 */
export function wrongOfSameLength(row: ProbeRow): string[] {
	const { answer } = row;
	const own = row.wrong.filter((text) => text.length === answer.length && !sameAnswer(text, answer)).slice(0, 2);
	const at = answer.search(/[A-Za-z0-9](?=[^A-Za-z0-9]*$)/);
	if (at < 0) return own;
	const code = answer.charCodeAt(at);
	const next = String.fromCharCode(/[zZ9]/.test(answer.charAt(at)) ? code - 1 : code + 1);
	return [...new Set([...own, answer.slice(0, at) + next + answer.slice(at + 1)])];
}
