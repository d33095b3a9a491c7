import type { Search } from '../search.ts';

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

/** Children that a strategy may go on with: neither pruned nor the same as another node. */
export function openChildren(search: Search, node: number): number[] {
	const children = search.tree.node(node)?.children ?? [];
	return children.filter((id) => {
		const child = search.tree.node(id);
		return child !== undefined && child.pruned === null && child.mergedInto === null;
	});
}

/** Of nodes with one text (white space aside) the first is kept; the others are merged into it. */
export function distinct(search: Search, nodes: readonly number[]): number[] {
	const first = new Map<string, number>();
	const kept: number[] = [];
	for (const id of nodes) {
		const text = search.textOf(id).replace(/\s+/g, ' ').trim();
		const same = first.get(text);
		if (same === undefined) {
			first.set(text, id);
			kept.push(id);
		} else if (same !== id) search.merge(id, same);
	}
	return kept;
}

/** Values by the search's own scorer; nodes that it valued before keep their value. */
export async function valuesByScorer(search: Search, nodes: readonly number[]): Promise<(number | null)[]> {
	const scorer = search.guide ?? search.judge;
	if (scorer === null) return nodes.map(() => null);
	const missing = nodes.filter((id) => search.tree.node(id)?.scores.get(scorer.name) === undefined);
	const made = missing.length === 0 ? [] : await search.evaluate(missing, scorer);
	const values = new Map(missing.map((id, i) => [id, made[i] ?? null]));
	return nodes.map((id) => (values.has(id) ? values.get(id) : search.tree.node(id)?.scores.get(scorer.name)) ?? null);
}

/**
 * The answer of the greatest summed weight among nodes that end with one, by its node of the greatest weight; its value is
 * its share of all weights. Nodes without an answer or a weight have no say; when all are, the last node.
 */
export function bestAnswer(
	search: Search,
	nodes: readonly number[],
	weights: readonly (number | null)[],
): { readonly best: number | null; readonly answer?: string; readonly value?: number } {
	const groups: { readonly answer: string; readonly members: { id: number; value: number }[] }[] = [];
	for (const [i, id] of nodes.entries()) {
		const answer = search.tree.node(id)?.answer ?? null;
		const value = weights[i] ?? null;
		if (answer === null || value === null) continue;
		const group = groups.find((one) => search.sameAnswer(one.answer, answer));
		if (group === undefined) groups.push({ answer, members: [{ id, value }] });
		else group.members.push({ id, value });
	}
	const sum = (members: readonly { value: number }[]) => members.reduce((total, { value }) => total + value, 0);
	const totals = groups.map(({ members }) => sum(members));
	const most = totals.indexOf(Math.max(...totals));
	const group = groups[most];
	if (group === undefined) return { best: nodes.at(-1) ?? null };
	const first = group.members.reduce((a, b) => (b.value > a.value ? b : a));
	const all = totals.reduce((a, b) => a + b, 0);
	return { best: first.id, answer: group.answer, value: all > 0 ? (totals[most] as number) / all : 0 };
}
