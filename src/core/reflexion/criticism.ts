import { claimNumbers, claimTerms } from '../transcript/claimTerms.ts';

export interface Critique {
	readonly missing: readonly string[];
	readonly superfluous: readonly string[];
}

/** A point of critique and its resolution. */
export interface CritiqueItem {
	readonly kind: 'missing' | 'superfluous';
	readonly text: string;
}

export const itemsOf = ({ missing, superfluous }: Critique): CritiqueItem[] => [
	...missing.map((text) => ({ kind: 'missing' as const, text })),
	...superfluous.map((text) => ({ kind: 'superfluous' as const, text })),
];

/**
 * Returns which points of a critique were addressed by the revision: the answer has changed, and the new critique does
 * not repeat the point. Whether a point was addressed well is up to the reader.
 */
export function addressedBy(before: Critique, changed: boolean, after: Critique): number[] {
	if (!changed) return [];
	const later = itemsOf(after);
	return itemsOf(before).flatMap((item, i) =>
		later.some((one) => one.kind === item.kind && isSamePoint(one.text, item.text)) ? [] : [i],
	);
}

/** Min Jaccard similarity of terms at which two points are the same. */
const same = 0.5;

export function isSamePoint(one: string, other: string): boolean {
	if (plain(one) === plain(other)) return true;
	// Points with different numbers are about different things.
	if ([...claimNumbers(one)].sort().join() !== [...claimNumbers(other)].sort().join()) return false;
	const [a, b] = [claimTerms(one), claimTerms(other)];
	if (a.size === 0 || b.size === 0) return false;
	const common = a.size - [...a].filter((term) => !b.has(term)).length;
	return common / (a.size + b.size - common) >= same;
}

/** Whether two answers consist of the same words. */
export const isSameText = (one: string, other: string): boolean => spaced(one) === spaced(other);

const plain = (text: string): string =>
	text
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();

const spaced = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();
