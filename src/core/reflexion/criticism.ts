import { claimNumbers, claimTerms } from '../transcript/claimTerms.ts';

export interface Critique {
	readonly missing: readonly string[];
	readonly superfluous: readonly string[];
}

/** A point of criticism and what became of it. */
export interface CritiqueItem {
	readonly kind: 'missing' | 'superfluous';
	readonly text: string;
}

export const itemsOf = ({ missing, superfluous }: Critique): CritiqueItem[] => [
	...missing.map((text) => ({ kind: 'missing' as const, text })),
	...superfluous.map((text) => ({ kind: 'superfluous' as const, text })),
];

/**
 * Which points of an answer's critique its revision took up, by their places: the answer has changed, and the new critique
 * does not make the same point again. Whether the point was met well is for the reader to say.
 */
export function addressedBy(before: Critique, changed: boolean, after: Critique): number[] {
	if (!changed) return [];
	const later = itemsOf(after);
	return itemsOf(before).flatMap((item, i) =>
		later.some((one) => one.kind === item.kind && isSamePoint(one.text, item.text)) ? [] : [i],
	);
}

/** Share of common terms (Jaccard) from which two points are one. */
const same = 0.5;

export function isSamePoint(one: string, other: string): boolean {
	if (plain(one) === plain(other)) return true;
	// Points that differ in a number are about different things.
	if ([...claimNumbers(one)].sort().join() !== [...claimNumbers(other)].sort().join()) return false;
	const [a, b] = [claimTerms(one), claimTerms(other)];
	if (a.size === 0 || b.size === 0) return false;
	const common = a.size - [...a].filter((term) => !b.has(term)).length;
	return common / (a.size + b.size - common) >= same;
}

/** Whether two answers say the same words. */
export const isSameText = (one: string, other: string): boolean => spaced(one) === spaced(other);

const plain = (text: string): string =>
	text
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();

const spaced = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();
