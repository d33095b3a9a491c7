const number = /^[+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?$/;

/**
 * An answer as it is compared: Unicode NFC, outer white space gone, inner white space one blank; a decimal number without
 * sign `+`, thousands commas, leading zeros and trailing zeros of its fraction. Nothing else is forgiven.
 */
export function normaliseAnswer(answer: string): string {
	const text = answer.normalize('NFC').trim().replace(/\s+/g, ' ');
	if (text.length > 400 || !number.test(text)) return text;
	const negative = text.startsWith('-');
	const [whole = '', fraction = ''] = text.replace(/^[+-]/, '').replaceAll(',', '').split('.');
	const integer = whole.replace(/^0+(?=\d)/, '');
	const decimals = fraction.replace(/0+$/, '');
	const value = decimals === '' ? integer : `${integer}.${decimals}`;
	return negative && value !== '0' ? `-${value}` : value;
}

/** A gold answer as text; null when there is none that could be compared. */
export function goldText(answer: unknown): string | null {
	if (typeof answer === 'string') return answer.trim() === '' ? null : answer;
	if (typeof answer === 'boolean') return String(answer);
	if (typeof answer !== 'number' || !Number.isFinite(answer)) return null;
	// Never "1e+21": nobody answers in that form.
	return Math.abs(answer) < 1e21 && Math.abs(answer) >= 1e-6 ? String(answer) : answer === 0 ? '0' : null;
}

export function answersEqual(gold: string, answer: string): boolean {
	return normaliseAnswer(gold) === normaliseAnswer(answer);
}
