import type { Answer, Scalar } from './answer.ts';
import { cleanText } from './cleanText.ts';
import { freeSymbols } from './expression.ts';
import { parseAnswer } from './parseAnswer.ts';
import { wholeText } from './wordAnswer.ts';

/**
 * Returns additional readings of a stated answer that the form of the gold answer allows. Without a gold answer, each
 * has a different meaning: `1,22` is two numbers, `e` is a constant, and `5m²` is a product.
 *
 * - a decimal comma (`1,22`), if the gold answer is a non-integer decimal
 * - a lowercase choice (`b`, `(b)`), if the gold answer is a choice letter
 * - a one-letter unit directly after a decimal number or with a power (`1000.99m²`), if the gold answer is a number
 */
export function readingsForGold(gold: Answer, reading: string): Answer[] {
	const text = cleanText(reading);
	if (gold.kind === 'choice') return lowerCaseChoice(text);
	const value = gold.kind === 'named' ? gold.value : gold;
	if (value.kind !== 'scalar' || freeSymbols(value.expression).size > 0) return [];
	return [...(isFractional(value) ? decimalComma(text) : []), ...letterUnit(text)];
}

const isFractional = ({ digits, exact }: Scalar): boolean => digits !== null && exact !== null && exact.d !== 1n;

function read(text: string): Answer[] {
	const answer = parseAnswer(text);
	return answer === null ? [] : [answer];
}

/**
 * Matches a number with a decimal comma. Does not match `1,234`, where the comma separates thousands, but does match
 * `0,234`.
 */
const commaNumber = /(?<![\d.,])(?!(?!0,)\d{1,3},\d{3}(?!\d))(\d+),(\d+)(?![\d.,]*\d)/;
/** `1.234,5`. */
const pointsAndComma = /(?<![\d.,])\d{1,3}(?:\.\d{3})+,\d+(?![\d.,]*\d)/;

function decimalComma(text: string): Answer[] {
	if (/[([{;]/.test(text.replace(/\\(?:text|frac) ?\{[^{}]*\}/g, ''))) return [];
	if (pointsAndComma.test(text)) {
		return read(text.replace(pointsAndComma, (number) => number.replaceAll('.', '').replace(',', '.')));
	}
	const decimal = text.replace(commaNumber, '$1.$2');
	return decimal === text || decimal.includes(',') ? [] : read(decimal);
}

const letter = /^\(?([a-j])[).:]*$/;

function lowerCaseChoice(text: string): Answer[] {
	const alone = letter.exec((wholeText(text) ?? text).trim());
	return alone === null ? [] : [{ kind: 'choice', letter: (alone[1] as string).toUpperCase(), rest: null }];
}

const gluedUnit = /^([+-]?[\d,]+(?:\.\d+)?)([a-zA-Z])(\^ ?(?:\{\d\}|\d))?[.,]?$/;

function letterUnit(text: string): Answer[] {
	const match = gluedUnit.exec(text);
	if (match === null) return [];
	const [, number, unit, power] = match as unknown as [string, string, string, string | undefined];
	return power === undefined && !number.includes('.') ? [] : read(`${number} \\text{${unit}}${power ?? ''}`);
}
