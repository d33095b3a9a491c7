import type { GraphStage } from '../../protocol/pipelineGraphMessages.ts';
import { sumOfCosts } from './stageCost.ts';

/** A graph node: a stage, or all rounds of a loop stage combined, with its position in the graph. */
export interface GraphNode extends Omit<GraphStage, 'round'> {
	/** Stage to open: for folded rounds, the latest one that has started. */
	readonly opened: string;
	/** Rounds combined in the node, or null for a single stage. */
	readonly rounds: { readonly done: number; readonly total: number } | null;
	/** Accuracy minus that of the preceding stage; null if either is unknown. */
	readonly gain: number | null;
	/** Column: the length of the longest path from a stage without dependencies. */
	readonly level: number;
	/** Row in the graph. */
	readonly lane: number;
}

/**
 * Returns the stages of a pipeline as a layered graph: each stage is placed to the right of all its dependencies, near
 * the lane of the first one. Stages must follow their dependencies, as in pipeline.json; other references, such as
 * those from a loop's first stage to the end of its previous round when rounds are folded, have no edge.
 * @param folded whether to combine the rounds of a loop into one node per loop stage
 */
export function stageGraph(stages: readonly GraphStage[], folded: boolean): GraphNode[] {
	const groups = Map.groupBy(stages, ({ name, round }) => (folded && round !== null ? `round:${round.of}` : name));
	const idOf = new Map([...groups].flatMap(([id, members]) => members.map(({ name }) => [name, id] as const)));
	const nodes = new Map<string, GraphNode>();
	const taken = new Map<number, Set<number>>();
	for (const [id, members] of groups) {
		const merged = mergedStage(members);
		const after = [...new Set(members.flatMap((stage) => stage.after.map((name) => idOf.get(name) ?? '')))].filter(
			(other) => other !== id && nodes.has(other),
		);
		const before = after.map((other) => nodes.get(other) as GraphNode);
		const level = before.reduce((max, node) => Math.max(max, node.level + 1), 0);
		const lane = freeLane(taken, level, before[0]?.lane ?? 0);
		const known = before.map(({ accuracy }) => accuracy).find((accuracy) => accuracy !== null);
		const gain = merged.accuracy === null || known === undefined || known === null ? null : merged.accuracy - known;
		nodes.set(id, { ...merged, after: before.map(({ name }) => name), gain, level, lane });
	}
	return [...nodes.values()];
}

/** Returns the first free lane at or after the wanted one, and marks it as taken. */
function freeLane(taken: Map<number, Set<number>>, level: number, wanted: number): number {
	const lanes = taken.get(level) ?? new Set<number>();
	taken.set(level, lanes);
	let lane = wanted;
	while (lanes.has(lane)) lane++;
	lanes.add(lane);
	return lane;
}

function mergedStage(members: readonly GraphStage[]): Omit<GraphNode, 'gain' | 'level' | 'lane'> {
	const [first] = members as [GraphStage];
	const { round, ...stage } = first;
	if (members.length === 1) return { ...stage, opened: stage.name, rounds: null };
	const started = members.filter(({ opens }) => opens);
	const latest = started.at(-1) ?? first;
	// Current stage of the loop: one that is running or has failed, otherwise the next one, otherwise the last one.
	const current =
		members.find(({ status }) => status === 'running' || status === 'failed' || status === 'stopped') ??
		members.find(({ status }) => status === 'waiting') ??
		latest;
	const times = members.flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
	return {
		...stage,
		name: round?.of ?? stage.name,
		status: current.status,
		done: current.done,
		total: current.total,
		accuracy: members.findLast(({ accuracy }) => accuracy !== null)?.accuracy ?? null,
		seconds: times.length === 0 ? null : times.reduce((sum, one) => sum + one, 0),
		device: latest.device,
		...sumOfCosts(members.filter(({ seconds }) => seconds !== null)),
		why: current.why,
		opens: started.length > 0,
		opened: latest.name,
		rounds: { done: members.filter(({ status }) => status === 'finished').length, total: members.length },
	};
}
