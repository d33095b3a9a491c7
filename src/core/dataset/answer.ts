const number = /^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$/;

/**
 * Normalizes an answer for comparison: applies Unicode NFC, trims it, and collapses inner whitespace to single spaces.
 * In decimal numbers, also removes a leading `+`, thousands separators, leading zeros, and trailing zeros in the
 * fraction. Everything else must match exactly.
 */
export function normalizeAnswer(answer: string): string {
	const text = answer.normalize('NFC').trim().replace(/\s+/g, ' ');
	if (text.length > 400 || !number.test(text)) return text;
	const negative = text.startsWith('-');
	const [whole = '', fraction = ''] = text.replace(/^[+-]/, '').replaceAll(',', '').split('.');
	const integer = whole.replace(/^0+(?=\d)/, '');
	const decimals = fraction.replace(/0+$/, '');
	const value = decimals === '' ? integer : `${integer}.${decimals}`;
	return negative && value !== '0' ? `-${value}` : value;
}

/** Returns a gold answer as text, or null if it cannot be compared. */
export function goldText(answer: unknown): string | null {
	if (typeof answer === 'string') return answer.trim() === '' ? null : answer;
	if (typeof answer === 'boolean') return String(answer);
	if (typeof answer !== 'number' || !Number.isFinite(answer)) return null;
	// Avoid scientific notation such as "1e+21", which no answer uses.
	return Math.abs(answer) < 1e21 && Math.abs(answer) >= 1e-6 ? String(answer) : answer === 0 ? '0' : null;
}

export function answersEqual(gold: string, answer: string): boolean {
	return normalizeAnswer(gold) === normalizeAnswer(answer);
}
