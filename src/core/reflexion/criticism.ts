import { claimNumbers, claimTerms } from '../transcript/claimTerms.ts';

export interface Critique {
	readonly missing: readonly string[];
	readonly superfluous: readonly string[];
}

/** A critique point and whether it was resolved. */
export interface CritiqueItem {
	readonly kind: 'missing' | 'superfluous';
	readonly text: string;
}

export const itemsOf = ({ missing, superfluous }: Critique): CritiqueItem[] => [
	...missing.map((text) => ({ kind: 'missing' as const, text })),
	...superfluous.map((text) => ({ kind: 'superfluous' as const, text })),
];

/**
 * Returns the critique points that a revision addressed: the answer has changed, and the new critique does not repeat
 * the point. Readers must decide how well a point was addressed.
 */
export function addressedBy(before: Critique, changed: boolean, after: Critique): number[] {
	if (!changed) return [];
	const later = itemsOf(after);
	return itemsOf(before).flatMap((item, i) =>
		later.some((one) => one.kind === item.kind && isSamePoint(one.text, item.text)) ? [] : [i],
	);
}

/** Minimum Jaccard similarity of terms at which two points count as the same. */
const same = 0.5;

export function isSamePoint(one: string, other: string): boolean {
	if (plain(one) === plain(other)) return true;
	// Points that contain different numbers are about different issues.
	if ([...claimNumbers(one)].sort().join() !== [...claimNumbers(other)].sort().join()) return false;
	const [a, b] = [claimTerms(one), claimTerms(other)];
	if (a.size === 0 || b.size === 0) return false;
	const common = a.size - [...a].filter((term) => !b.has(term)).length;
	return common / (a.size + b.size - common) >= same;
}

/** Returns whether two answers consist of the same words. */
export const isSameText = (one: string, other: string): boolean => spaced(one) === spaced(other);

const plain = (text: string): string =>
	text
		.toLowerCase()
		.replace(/[^\p{L}\p{N}]+/gu, ' ')
		.trim();

const spaced = (text: string): string => text.trim().replace(/\s+/g, ' ').toLowerCase();
