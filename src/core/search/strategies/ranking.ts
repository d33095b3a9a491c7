import { bestFinal, finalsOf } from '../choice.ts';
import type { Scorer } from '../scorer.ts';
import type { Search } from '../search.ts';
import type { Conclusion } from '../strategy.ts';

export interface Valued {
	readonly id: number;
	/** null: it has none. */
	readonly value: number | null;
}

/** Best first; without a value last; of equals the one that was made first. */
export function ranked(nodes: readonly number[], values: readonly (number | null)[]): Valued[] {
	return nodes
		.map((id, i) => ({ id, value: values[i] ?? null }))
		.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.id - b.id || 0);
}

/**
 * Children that a search which goes on has made already. Who branches from a node wants others beside them, so that of this
 * node there are none.
 */
export function madeChildren(search: Search, node: number): readonly number[] {
	return node === search.root && node !== 0 ? [] : (search.tree.node(node)?.children ?? []);
}

/** Those of them that were not pruned. */
export function openChildren(search: Search, node: number): number[] {
	return madeChildren(search, node).filter((id) => search.tree.node(id)?.pruned === null);
}

/** Of nodes with one text (white space aside) the first is kept; the others are merged into it. */
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

/** Values by the guide, or by the one who chooses; nodes that it valued before keep their value. */
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

/** The final node of the greatest value by a scorer's name; when none has one, as any search concludes. */
export function bestByScore(search: Search, scorer: string): Conclusion {
	const finals = finalsOf(search);
	const [best] = ranked(
		finals.map(({ id }) => id),
		finals.map(({ scores }) => scores.get(scorer) ?? null),
	);
	if (best === undefined || best.value === null) return bestFinal(search, finals);
	return { best: best.id, value: best.value };
}
