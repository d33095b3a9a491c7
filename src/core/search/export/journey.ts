import type { TraceTags } from '../../trace/trace.ts';
import type { SearchTree } from '../searchTree.ts';
import type { TreeNode } from '../treeNode.ts';
import { type Measure, nodeValue } from './treeFacts.ts';

export interface JourneyOptions extends Measure {
	readonly tags: TraceTags;
	/** Maximum number of abandoned branches per branching point. Default: 1. */
	readonly trials?: number;
	/** Maximum number of abandoned branches in the whole journey. Default: 8. */
	readonly most?: number;
	/** Maximum number of characters per abandoned branch, which is truncated at a step boundary. Default: 4000. */
	readonly longest?: number;
	readonly words?: Partial<JourneyWords>;
}

/** Phrases that connect an abandoned branch to the rest of the path. */
export interface JourneyWords {
	/** Follows a branch that reached a different answer, which is substituted for {answer}. */
	readonly wrong: string;
	/** Follows a branch without an answer. */
	readonly deadEnd: string;
	/** Placed between an attempt and its revision. */
	readonly again: string;
}

const defaultWords: JourneyWords = {
	wrong: 'Wait, that would give {answer}, which cannot be right. Let me go back and try another way.',
	deadEnd: 'Hmm, this leads nowhere. Let me go back and try another way.',
	again: 'Let me go over this again.',
};

export interface JourneySegment {
	readonly kind: 'path' | 'abandoned' | 'transition';
	/** Node that the text belongs to, or the last node in an abandoned branch. */
	readonly node: number;
	readonly text: string;
}

/**
 * Flattens a tree into one chain of thought that ends at a node and includes abandoned branches and the backtracking
 * from them (journey learning: Qin et al. 2024, "O1 Replication Journey", section 3.4). At each branching point,
 * abandoned branches come first, in order of descending value, each followed to its most promising end. Branches that
 * end with the same answer are skipped. Tags occur once, around the whole text. The segments concatenate to the text.
 */
export function journey(tree: SearchTree, end: number, options: JourneyOptions): JourneySegment[] {
	const { tags, trials = 1, most: max = 8 } = options;
	const words = { ...defaultWords, ...options.words };
	const path = tree.pathTo(end).filter((id) => (tree.node(id) as TreeNode).parents.length > 0);
	const onPath = new Set(path);
	const whole = tree.textOf(end);
	const inside = thinkingSpan(whole, tags);
	const own = new Set(tree.partsOf(end));
	const answer = tree.node(end)?.answer ?? null;
	const segments: JourneySegment[] = [];
	const push = (kind: JourneySegment['kind'], node: number, text: string) => {
		if (text.trim() === '') return;
		const last = segments.at(-1);
		const inLine = last !== undefined && last.text !== inside.open && !last.text.endsWith('\n');
		const apart = inLine && (kind !== 'path' || last.kind === 'transition') ? '\n' : '';
		segments.push({ kind, node, text: `${apart}${text}` });
	};
	if (inside.open !== '') segments.push({ kind: 'path', node: path[0] ?? end, text: inside.open });
	let shown = 0;
	let offset = 0;
	for (const id of path) {
		const node = tree.node(id) as TreeNode;
		for (const branch of abandoned(tree, node, onPath, answer, options).slice(0, trials)) {
			if (shown >= max) break;
			const text = branchText(tree, branch, node.parents[0] as number, options);
			if (text.trim() === '') continue;
			push('abandoned', branch, text);
			const given = tree.node(branch)?.answer ?? null;
			push('transition', branch, given === null ? words.deadEnd : words.wrong.replace('{answer}', () => given));
			shown++;
		}
		if (own.has(id)) {
			const [from, to] = [Math.max(offset, inside.from), Math.min(offset + node.text.length, inside.to)];
			push('path', id, whole.slice(from, Math.max(from, to)));
			offset += node.text.length;
		} else {
			// Earlier attempts and critiques are part of the path, but their answers are removed.
			const span = thinkingSpan(node.text, tags);
			push('abandoned', id, node.text.slice(span.from, span.to));
			if (node.role !== 'subproblem') push('transition', id, words.again);
		}
	}
	const tail = whole.slice(inside.to);
	if (tail !== '') segments.push({ kind: 'path', node: end, text: tail });
	return segments;
}

export function journeyText(segments: readonly JourneySegment[]): string {
	return segments.map(({ text }) => text).join('');
}

/** Returns the ends of the abandoned branches that start at a node's siblings, highest value first. */
function abandoned(
	tree: SearchTree,
	node: TreeNode,
	onPath: ReadonlySet<number>,
	answer: string | null,
	measure: Measure,
): number[] {
	const value = (id: number) => nodeValue(tree, id, measure) ?? Number.NEGATIVE_INFINITY;
	const siblings = tree.node(node.parents[0] as number)?.children ?? [];
	return siblings
		.filter((id) => {
			const sibling = tree.node(id) as TreeNode;
			return !onPath.has(id) && sibling.mergedInto === null && sibling.parents[0] === node.parents[0];
		})
		.sort((a, b) => value(b) - value(a) || a - b || 0)
		.map((id) => mostPromisingEnd(tree, id, value))
		.filter((id) => answer === null || tree.node(id)?.answer !== answer);
}

function mostPromisingEnd(tree: SearchTree, id: number, value: (id: number) => number): number {
	let at = id;
	for (;;) {
		const children = (tree.node(at) as TreeNode).children.filter((child) => {
			const next = tree.node(child) as TreeNode;
			return child > at && next.parents[0] === at && !next.fresh && next.mergedInto === null;
		});
		if (children.length === 0) return at;
		at = children.reduce((best, child) => (value(child) > value(best) ? child : best));
	}
}

/**
 * Returns the thinking in a branch after the point where the branch left the path. Thinking that is too long is
 * truncated at a step boundary.
 */
function branchText(tree: SearchTree, end: number, after: number, { tags, longest = 4000 }: JourneyOptions): string {
	const parts = tree.partsOf(end);
	const common = parts.includes(after) ? parts.indexOf(after) + 1 : 0;
	const before = parts.slice(0, common).reduce((sum, id) => sum + (tree.node(id) as TreeNode).text.length, 0);
	const whole = tree.textOf(end);
	const span = thinkingSpan(whole, tags);
	let to = before;
	for (const id of parts.slice(common)) {
		const { length } = (tree.node(id) as TreeNode).text;
		if (to > before && to + length - before > longest) break;
		to += length;
	}
	const from = Math.max(before, span.from);
	return whole.slice(from, Math.max(from, Math.min(to, span.to, from + longest)));
}

/**
 * Returns the span of the thinking in a completion, or the whole text if there are no tags. `open` is the opening tag
 * and any text before it.
 */
function thinkingSpan(text: string, { think, answer }: TraceTags): { open: string; from: number; to: number } {
	const start = think === null ? -1 : text.indexOf(think[0]);
	const opened = start >= 0 && text.slice(0, start).trim() === '' && think !== null;
	const from = opened ? start + think[0].length : 0;
	const ends = [think?.[1], answer?.[0]].map((tag) => (tag === undefined ? -1 : text.indexOf(tag, from)));
	const found = ends.filter((at) => at >= 0);
	return { open: text.slice(0, from), from, to: found.length === 0 ? text.length : Math.min(...found) };
}
