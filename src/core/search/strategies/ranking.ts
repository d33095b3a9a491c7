import { bestFinal, finalsOf } from '../choice.ts';
import type { Scorer } from '../scorer.ts';
import type { Search } from '../search.ts';
import type { Conclusion } from '../strategy.ts';

export interface Valued {
	readonly id: number;
	/** null if there is no value. */
	readonly value: number | null;
}

/** Sorts nodes by value in descending order. Nodes without a value come last, and ties keep creation order. */
export function ranked(nodes: readonly number[], values: readonly (number | null)[]): Valued[] {
	return nodes
		.map((id, i) => ({ id, value: values[i] ?? null }))
		.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.id - b.id || 0);
}

/**
 * Returns the children that already exist when a search is continued. Returns none for the node that the user branched
 * from, because a branch should add siblings.
 */
export function madeChildren(search: Search, node: number): readonly number[] {
	return node === search.root && node !== 0 ? [] : (search.tree.node(node)?.children ?? []);
}

/** Returns the children that were not pruned. */
export function openChildren(search: Search, node: number): number[] {
	return madeChildren(search, node).filter((id) => search.tree.node(id)?.pruned === null);
}

/** Merges nodes with the same text (ignoring whitespace) into the first one. */
export function distinct(search: Search, nodes: readonly number[]): number[] {
	const first = new Map<string, number>();
	const kept: number[] = [];
	for (const id of nodes) {
		if (search.tree.node(id)?.mergedInto !== null) continue;
		const text = search.textOf(id).replace(/\s+/g, ' ').trim();
		const same = first.get(text);
		if (same === undefined) {
			first.set(text, id);
			kept.push(id);
		} else if (same !== id) search.merge(id, same);
	}
	return kept;
}

/**
 * Evaluates nodes with the guide or, if there is none, with the selecting scorer. Nodes that already have a value keep
 * it.
 */
export async function valuesByScorer(
	search: Search,
	nodes: readonly number[],
	scorer: Scorer | null = search.guide ?? search.judge,
): Promise<(number | null)[]> {
	if (scorer === null) return nodes.map(() => null);
	const missing = nodes.filter((id) => search.tree.node(id)?.scores.get(scorer.name) === undefined);
	const made = missing.length === 0 ? [] : await search.evaluate(missing, scorer);
	const values = new Map(missing.map((id, i) => [id, made[i] ?? null]));
	return nodes.map((id) => (values.has(id) ? values.get(id) : search.tree.node(id)?.scores.get(scorer.name)) ?? null);
}

/**
 * Returns the final node with the highest value from the named scorer, or the default conclusion if none has a value.
 */
export function bestByScore(search: Search, scorer: string): Conclusion {
	const finals = finalsOf(search);
	const [best] = ranked(
		finals.map(({ id }) => id),
		finals.map(({ scores }) => scores.get(scorer) ?? null),
	);
	if (best === undefined || best.value === null) return bestFinal(search, finals);
	return { best: best.id, value: best.value };
}
