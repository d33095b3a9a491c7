import { hostileTexts } from './hostileTexts.ts';

export const allHostileTexts: readonly string[] = Object.values(hostileTexts);

/**
 * A value with a hostile text in the place of every text and of every name of a map: the texts of the list one after the
 * other from `begin` on.
 * @param kept names of fields whose texts decide what the rest means
 */
export function hostileValue<T>(value: T, begin = 0, kept: readonly string[] = []): T {
	let at = begin;
	// A number tells those apart that a map would hold once.
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
