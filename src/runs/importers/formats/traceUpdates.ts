import { type Fields, fieldsOf, integerOf, listOf, numberOf, numbersOf, textOf } from '../foreignValues.ts';

/*
 * Updates to prime-rl traces (prime_rl/monitors/file/traces/update.py): facts and per-token streams that become known
 * after a trace was written. A stream covers all tokens of one branch, from the root to a leaf.
 */

/** Values by stream name, one per trained token of a node. */
export type NodeStreams = Readonly<Record<string, readonly (number | null)[]>>;

export interface FoldedUpdates {
	/** The newest scalar advantage; null if there is none. */
	readonly advantage: number | null;
	/** Whether the rollout was part of a training batch. */
	readonly trained: boolean;
	/** Streams by node index. */
	readonly nodes: ReadonlyMap<number, NodeStreams>;
}

/** Names of the streams that are shown. */
const streamNames = ['advantages', 'trainer_logprobs', 'entropies'] as const;

/** Returns the trace that an update refers to. */
export function updatedTrace(record: unknown): string | null {
	return textOf(fieldsOf(record)?.trace_id);
}

/** Returns each branch's node indices from root to leaf, in order of the leaves. */
function branchPaths(nodes: readonly Fields[]): number[][] {
	const parents = nodes.map(({ parent }, index) => {
		const at = integerOf(parent);
		// A parent follows its children only in a damaged record; ignoring it avoids cycles.
		return at !== null && at >= 0 && at < index ? at : null;
	});
	const inner = new Set(parents);
	const paths: number[][] = [];
	for (const index of nodes.keys()) {
		if (inner.has(index)) continue;
		const path: number[] = [];
		for (let at: number | null = index; at !== null; at = parents[at] ?? null) path.unshift(at);
		paths.push(path);
	}
	return paths;
}

/** Applies updates in the order they were written; later values win. */
export function foldUpdates(updates: readonly unknown[], nodes: readonly Fields[]): FoldedUpdates {
	const paths = branchPaths(nodes);
	const streams = new Map<number, Record<string, readonly (number | null)[]>>();
	let advantage: number | null = null;
	let trained = false;
	for (const update of updates.map(fieldsOf)) {
		const info = fieldsOf(update?.info);
		advantage = numberOf(info?.advantage) ?? advantage;
		trained ||= info?.effective === true;
		for (const branch of listOf(update?.branches).map(fieldsOf)) {
			const path = paths[integerOf(branch?.index) ?? -1];
			if (branch === null || path === undefined) continue;
			for (const name of streamNames) project(numbersOf(branch[name]), path, nodes, name, streams);
		}
	}
	return { advantage, trained, nodes: streams };
}

/** Distributes a branch's stream over its nodes. A node is skipped unless all of its trained tokens have values. */
function project(
	stream: readonly (number | null)[],
	path: readonly number[],
	nodes: readonly Fields[],
	name: string,
	streams: Map<number, Record<string, readonly (number | null)[]>>,
): void {
	let cursor = 0;
	for (const index of path) {
		const node = nodes[index];
		const count = listOf(node?.token_ids).length;
		const span = stream.slice(cursor, cursor + count);
		cursor += count;
		if (span.length < count) return;
		const mask = listOf(node?.mask);
		const values = span.filter((_, at) => mask[at] === true);
		if (values.length === 0 || values.includes(null)) continue;
		const own = streams.get(index) ?? {};
		own[name] = values;
		streams.set(index, own);
	}
}
