import type { Generation, TokenDetail } from './policy.ts';

const finishes: readonly Generation['finish'][] = ['end', 'stop', 'length', 'refusal'];
const numberOrNull = (value: unknown): number | null =>
	typeof value === 'number' && Number.isFinite(value) ? value : null;

/** Estimates the number of tokens in a string. */
export const guessedTokens = (text: string): number => Math.ceil(text.length / 4);

/** Validates a generation returned by a policy and corrects inconsistent fields; returns null if it is invalid. */
export function readGeneration(given: Generation): Generation | null {
	if (typeof given !== 'object' || given === null || typeof given.text !== 'string') return null;
	const { tokens, promptTokens, logprob, detail, finish } = given;
	const sound =
		Number.isSafeInteger(tokens) &&
		tokens >= 0 &&
		finishes.includes(finish) &&
		numberOrNull(promptTokens) === promptTokens &&
		numberOrNull(logprob) === logprob &&
		(detail === null || detailIsSound(detail));
	if (sound) return given;
	return {
		...given,
		finish: finishes.includes(finish) ? finish : 'end',
		tokens: Number.isFinite(tokens) && tokens >= 0 ? Math.round(tokens) : guessedTokens(given.text),
		promptTokens: numberOrNull(promptTokens),
		logprob: numberOrNull(logprob),
		detail: detail && detailIsSound(detail) ? detail : null,
	};
}

const lists = ['logprob', 'entropy', 'varentropy', 'gini', 'variance', 'top'] as const;

function detailIsSound(detail: TokenDetail): boolean {
	if (typeof detail !== 'object' || !Array.isArray(detail.text) || !Array.isArray(detail.logprob)) return false;
	return lists.every((name) => detail[name] === undefined || detail[name].length === detail.text.length);
}

/** Returns the token details in the range from `from` to `to`, exclusive. */
export function detailSlice(detail: TokenDetail, from: number, to: number): TokenDetail {
	const { entropy, varentropy, gini, variance, top, partial } = detail;
	return {
		text: detail.text.slice(from, to),
		logprob: detail.logprob.slice(from, to),
		...(entropy === undefined ? {} : { entropy: entropy.slice(from, to) }),
		...(varentropy === undefined ? {} : { varentropy: varentropy.slice(from, to) }),
		...(gini === undefined ? {} : { gini: gini.slice(from, to) }),
		...(variance === undefined ? {} : { variance: variance.slice(from, to) }),
		...(top === undefined ? {} : { top: top.slice(from, to) }),
		...(partial === undefined ? {} : { partial }),
	};
}

/**
 * Returns the part of a generation before a text offset, with the tokens that start before it (a proportional number
 * if tokens are unknown). The log-probability of a prefix is known only if it was recorded per token.
 */
export function generationUpTo(whole: Generation, end: number): Generation {
	if (end >= whole.text.length) return whole;
	const { detail } = whole;
	if (detail === null) {
		const tokens = Math.min(whole.tokens, Math.max(1, Math.round((whole.tokens * end) / whole.text.length)));
		return { ...whole, text: whole.text.slice(0, end), tokens, logprob: null };
	}
	let count = 0;
	for (let at = 0; count < detail.text.length && at < end; count++) at += (detail.text[count] as string).length;
	const kept = detailSlice(detail, 0, count);
	return { ...whole, text: whole.text.slice(0, end), tokens: count, logprob: sumOf(kept.logprob), detail: kept };
}

/** Splits a generation before the tokens at the given positions, which must be in ascending order. */
export function chainOf(whole: Generation, places: readonly number[]): Generation[] {
	const { detail } = whole;
	if (detail === null || places.length === 0) return [whole];
	const parts: Generation[] = [];
	let [from, at] = [0, 0];
	for (const [i, to] of [...places, detail.text.length].entries()) {
		const last = i === places.length;
		const part = detailSlice(detail, from, to);
		const end = last ? whole.text.length : at + part.text.reduce((sum, { length }) => sum + length, 0);
		parts.push({
			...whole,
			text: whole.text.slice(at, end),
			// Assigns tokens without details, such as the end token, to the last part.
			tokens: last ? Math.max(0, whole.tokens - from) : to - from,
			logprob: sumOf(part.logprob),
			detail: part,
		});
		[from, at] = [to, end];
	}
	return parts;
}

/** Joins two consecutive parts of a generation. */
export function joined(first: Generation, second: Generation): Generation {
	const add = (a: number | null | undefined, b: number | null | undefined): number | null =>
		a === null || a === undefined || b === null || b === undefined ? null : a + b;
	const cost = add(first.cost ?? 0, second.cost ?? 0);
	return {
		...second,
		tokens: first.tokens + second.tokens,
		promptTokens: add(first.promptTokens, second.promptTokens),
		logprob: add(first.logprob, second.logprob),
		text: first.text + second.text,
		detail: first.detail === null || second.detail === null ? null : joinedDetail(first.detail, second.detail),
		...(first.cost === undefined && second.cost === undefined ? {} : { cost }),
	};
}

function joinedDetail(a: TokenDetail, b: TokenDetail): TokenDetail {
	const both = <T>(x: readonly T[] | undefined, y: readonly T[] | undefined) =>
		x === undefined || y === undefined ? undefined : [...x, ...y];
	const [entropy, varentropy, gini] = [
		both(a.entropy, b.entropy),
		both(a.varentropy, b.varentropy),
		both(a.gini, b.gini),
	];
	const [variance, top] = [both(a.variance, b.variance), both(a.top, b.top)];
	return {
		text: [...a.text, ...b.text],
		logprob: [...a.logprob, ...b.logprob],
		...(entropy === undefined ? {} : { entropy }),
		...(varentropy === undefined ? {} : { varentropy }),
		...(gini === undefined ? {} : { gini }),
		...(variance === undefined ? {} : { variance }),
		...(top === undefined ? {} : { top }),
		...(a.partial || b.partial ? { partial: true } : {}),
	};
}

/** Returns the sum, or null if any value is null. */
export function sumOf(values: readonly (number | null)[]): number | null {
	let sum = 0;
	for (const value of values) {
		if (value === null) return null;
		sum += value;
	}
	return sum;
}

/** Returns the mean of the non-null values; null if there are none. */
export function meanOf(values: readonly (number | null)[] | undefined): number | null {
	let sum = 0;
	let count = 0;
	for (const value of values ?? []) {
		if (value === null || !Number.isFinite(value)) continue;
		sum += value;
		count++;
	}
	return count === 0 ? null : sum / count;
}
