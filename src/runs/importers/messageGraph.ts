import type { Message } from '../../protocol/rolloutLine.ts';

/** A message and what it follows, by index; null: it opens a conversation. */
export interface GraphNode {
	readonly message: Message;
	readonly parent: number | null;
	/** Written by the model, in this rollout. */
	readonly sampled: boolean;
}

export interface SplitGraph {
	readonly prompt: Message[];
	readonly completion: Message[];
	/** As in a rollout line; undefined: each follows the one before. */
	readonly parents: (number | null)[] | undefined;
	/** Indices of the nodes whose messages the completion has, in its order. */
	readonly nodes: readonly number[];
}

/** The nodes from a root to one; a parent that is not before its child ends the walk, so there is no circle. */
function pathTo(nodes: readonly GraphNode[], last: number): Set<number> {
	const path = new Set<number>();
	let at: number | null = last;
	while (at !== null) {
		path.add(at);
		const parent: number | null = nodes[at]?.parent ?? null;
		at = parent !== null && parent < at ? parent : null;
	}
	return path;
}

/**
 * The prompt is what leads to the first message that the model wrote; everything else, whatever branch it is on, is the
 * completion. Without a sampled message the first of the assistant's counts as one.
 */
export function splitGraph(nodes: readonly GraphNode[]): SplitGraph {
	let first = nodes.findIndex((node) => node.sampled);
	if (first < 0) first = nodes.findIndex((node) => node.message.role === 'assistant');
	const asked = first < 0 ? new Set(nodes.keys()) : pathTo(nodes, first);
	asked.delete(first);
	const prompt: Message[] = [];
	const completion: Message[] = [];
	const kept: number[] = [];
	const parents: (number | null)[] = [];
	const placeOf = new Map<number, number>();
	for (const [index, node] of nodes.entries()) {
		if (asked.has(index)) {
			prompt.push(node.message);
			continue;
		}
		placeOf.set(index, completion.length);
		parents.push(node.parent === null ? null : (placeOf.get(node.parent) ?? null));
		completion.push(node.message);
		kept.push(index);
	}
	const straight = parents.every((parent, index) => parent === (index === 0 ? null : index - 1));
	return { prompt, completion, parents: straight ? undefined : parents, nodes: kept };
}
