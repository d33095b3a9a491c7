import type { Message } from '../../protocol/rolloutLine.ts';

/** A message and the index of the message it follows; null if it starts a conversation. */
export interface GraphNode {
	readonly message: Message;
	readonly parent: number | null;
	/** Whether the model generated the message in this rollout. */
	readonly sampled: boolean;
}

export interface SplitGraph {
	readonly prompt: Message[];
	readonly completion: Message[];
	/** Same as `parents` in a rollout line; undefined if each message follows the one before it. */
	readonly parents: (number | null)[] | undefined;
	/** Indices of the nodes that make up the completion, in order. */
	readonly nodes: readonly number[];
}

/**
 * Returns the nodes on the path from a root. The path stops at a parent that does not precede its child, so there are
 * no cycles.
 */
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
 * Splits a graph: the prompt is the path to the first message that the model generated, and everything else is the
 * completion, regardless of branch. If no message is marked as sampled, the first assistant message counts as sampled.
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
