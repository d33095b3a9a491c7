import type { SearchTree } from '../search/searchTree.ts';
import type { TreeNode } from '../search/treeNode.ts';
import { normalUrl, type Source } from '../transcript/sources.ts';
import type { ToolOutput, ToolSource } from './agentTool.ts';

/** A piece of evidence, with the mark the model uses to cite it. */
export interface Evidence extends ToolSource {
	/** Citation mark: `S1`, `S2`, ... in order of discovery. A source that is found again keeps its mark. */
	readonly mark: string;
	/** Nodes of the tool queries that found the source. */
	readonly nodes: readonly number[];
}

/** A tool query with the last outcome recorded at its node. The outcome fields are null if there is no outcome yet. */
export interface ToolRun {
	readonly node: TreeNode;
	readonly tool: string;
	readonly query: string;
	readonly sources: readonly ToolSource[] | null;
	readonly note: string | null;
	readonly error: string | null;
	readonly seconds: number | null;
}

/** Returns the tool queries in a tree, in node order. */
export function toolRunsOf(tree: SearchTree): ToolRun[] {
	return tree.nodes.filter(({ role }) => role === 'tool').map((node) => toolRunOf(tree, node));
}

export function toolRunOf(tree: SearchTree, node: TreeNode): ToolRun {
	const last = tree.notesOf(node.id).findLast((note) => note.t === 'tool');
	const done = last?.t === 'tool' ? last : null;
	const result = done?.result as Partial<ToolOutput> | undefined;
	return {
		node,
		tool: done?.name ?? toolOfLabel(node.label),
		query: node.text,
		sources: done === null || done.error !== undefined ? null : sourcesIn(result),
		note: typeof result?.note === 'string' ? result.note : null,
		error: done?.error ?? null,
		seconds: done?.seconds ?? null,
	};
}

/** Returns the tree label of a query, such as `workspace: learning rate`. */
export function toolLabel(tool: string, query: string): string {
	const [line = ''] = query.trim().split('\n', 1);
	return `${tool}: ${line.length > 60 || line.length < query.trim().length ? `${line.slice(0, 60)}…` : line}`;
}

export const toolOfLabel = (label: string | null): string => label?.split(': ', 1)[0] ?? '';

/** Returns the sources in a logged result, which is untrusted input. */
function sourcesIn(result: Partial<ToolOutput> | undefined): ToolSource[] {
	const given: unknown = result?.sources;
	if (!Array.isArray(given)) return [];
	return given.flatMap((one: Partial<ToolSource> | null) =>
		typeof one?.source === 'string' && typeof one.text === 'string'
			? [{ source: one.source, title: typeof one.title === 'string' ? one.title : null, text: one.text }]
			: [],
	);
}

/** Returns all evidence found so far, listing each source once. */
export function evidenceOf(tree: SearchTree): Evidence[] {
	const found = new Map<string, { source: string; title: string | null; texts: Set<string>; nodes: number[] }>();
	for (const { node, sources } of toolRunsOf(tree)) {
		for (const { source, title, text } of sources ?? []) {
			const key = normalUrl(source);
			const known = found.get(key) ?? { source, title, texts: new Set<string>(), nodes: [] };
			known.title ??= title;
			known.texts.add(text);
			if (known.nodes.at(-1) !== node.id) known.nodes.push(node.id);
			found.set(key, known);
		}
	}
	return [...found.values()].map(({ source, title, texts, nodes }, i) => ({
		mark: `S${i + 1}`,
		source,
		title,
		text: [...texts].join('\n'),
		nodes,
	}));
}

/** Returns the evidence keyed by normalized address, for checking claims. */
export function asSources(evidence: readonly Evidence[]): Map<string, Source> {
	return new Map(
		evidence.map(({ source, title, text, nodes }) => [
			normalUrl(source),
			{ url: source, title, text: [title ?? '', text].filter((one) => one !== '').join('\n'), messages: nodes },
		]),
	);
}
