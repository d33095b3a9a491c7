import { hostileTexts } from './hostileTexts.ts';

export const allHostileTexts: readonly string[] = Object.values(hostileTexts);

/**
 * Returns a copy of a value with every string and every map key replaced by a hostile text, taken in order from the
 * list starting at `begin`.
 * @param kept names of fields whose strings determine how the rest is interpreted
 */
export function hostileValue<T>(value: T, begin = 0, kept: readonly string[] = []): T {
	let at = begin;
	// Add a number to keep map keys distinct.
	const text = () => `${(allHostileTexts[at % allHostileTexts.length] as string).slice(0, 3000)} ${at++}`;
	const walk = (item: unknown): unknown => {
		if (typeof item === 'string') return text();
		if (Array.isArray(item)) return item.map(walk);
		if (item instanceof Map) return new Map([...item].map(([key, one]) => [key, walk(one)]));
		if (item === null || typeof item !== 'object') return item;
		return Object.fromEntries(Object.entries(item).map(([name, one]) => [name, kept.includes(name) ? one : walk(one)]));
	};
	return walk(value) as T;
}
