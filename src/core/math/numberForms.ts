import type { Answer, Scalar } from './answer.ts';
import { splitOutside } from './brackets.ts';
import { parsePlainNumber } from './plainNumber.ts';
import { readExpression } from './readExpression.ts';
import { readable, scalar, trimmed } from './scalarAnswer.ts';
import { numberInWords } from './words.ts';

export function parseBased(t: string): Answer | null {
	const match =
		/^([0-9][0-9A-Z ]*)_ ?\{? ?(?:\\text ?\{)?(\d{1,2}|two|three|four|five|six|seven|eight|nine|ten|sixteen)\}? ?\}?$/.exec(
			t,
		);
	if (match === null) return null;
	const base = /^\d/.test(match[2] as string) ? Number(match[2]) : numberInWords(match[2] as string);
	const digits = (match[1] as string).replaceAll(' ', '').replace(/^0+(?=.)/, '');
	if (base === null || base < 2 || base > 36) return null;
	if ([...digits].some((digit) => Number.parseInt(digit, 36) >= base)) return null;
	return { kind: 'based', digits, base };
}

export function parseCongruence(t: string): Answer | null {
	const match = /^(.+?)\\equiv(.+?)(?:\\pmod ?\{?([^{}]+)\}?|\( ?\\(?:mod|bmod|text ?\{mod\}) ?([^()]+)\))$/.exec(t);
	if (match === null) return null;
	const left = readExpression(match[1] as string);
	const right = parsePlainNumber(trimmed(match[2] as string))?.value ?? null;
	const modulus = parsePlainNumber(trimmed((match[3] ?? match[4]) as string))?.value ?? null;
	if (left === null || right === null || modulus === null || modulus.n <= 0n) return null;
	return { kind: 'congruence', left, right, modulus };
}

export function parseRatio(text: string): Answer | null {
	const t = text.replace(/^(\d+) to (\d+)$/, '$1:$2');
	const split = splitOutside(t, new Set([':', '\\colon']));
	if (split === null || split.pieces.length < 2 || split.pieces.length > 6) return null;
	const clock = /^(\d{1,2}) ?: ?([0-5]\d)(?: ?: ?([0-5]\d))? ?(?:\\text ?\{)? ?([ap])?\.? ?(?:m\.?)? ?\}?$/i.exec(t);
	const last = (split.pieces.at(-1) as string).replace(/\\text ?\{[^{}]*\}$/, '').replace(/[ap]\.? ?m\.?$/i, '');
	const parts = [...split.pieces.slice(0, -1), last].map((piece) => {
		const expression = readable(piece) ? readExpression(trimmed(piece)) : null;
		return expression === null ? null : scalar(expression, piece);
	});
	if (parts.some((part) => part === null)) return null;
	const time =
		clock === null
			? null
			: `${Number(clock[1])}:${clock[2]}${clock[3] ? `:${clock[3]}` : ''}${clock[4]?.toLowerCase() ?? ''}`;
	return { kind: 'ratio', parts: parts as Scalar[], clock: time };
}
