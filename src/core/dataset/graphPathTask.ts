import { Failure } from '../../base/failure.ts';
import type { Random } from '../../base/random.ts';
import type { Task, TaskProblem } from './problem.ts';

/** Node names: single letters, so that a step is two tokens. */
const letters: readonly string[] = [...'abcdefghijklmnopqrstuvwxyz'];

export interface GraphPathSettings {
	/** Number of edges on the path. */
	readonly terms: number;
	/** Number of nodes, including those that lead nowhere. */
	readonly nodes: number;
}

/** Returns one or two distinct numbers below `count`, in random order. */
function someBelow(random: Random, count: number): number[] {
	const first = random.int(count);
	const second = random.int(count);
	return random.next() < 0.5 || second === first ? [first] : [first, second];
}

/**
 * Returns the edges of an acyclic graph with two paths of `terms` edges, from nodes 0 and terms + 1. Every other node
 * has edges either to or from one or two earlier nodes, so that paths branch in both directions. A node with edges to
 * earlier ones can only be reached from other such nodes, so the end of a path is only reachable from its own start.
 */
function graphEdges(random: Random, { terms, nodes }: GraphPathSettings): [from: number, to: number][] {
	const edges: [number, number][] = [];
	for (let i = 0; i < terms; i++) edges.push([i, i + 1], [terms + 1 + i, terms + 2 + i]);
	for (let node = 2 * (terms + 1); node < nodes; node++) {
		const leads = random.next() < 0.5;
		for (const other of someBelow(random, node)) edges.push(leads ? [node, other] : [other, node]);
	}
	return edges;
}

/**
 * Generates graph search problems such as `ab cf bd fe:a?de`, which asks which of the nodes d and e can be reached from
 * a along edges such as `ab`. Both nodes are at the end of equally long paths, and both halves of the graph are
 * generated the same way, so only a search from the start, or from both ends, can distinguish them. The structure is
 * that of ProsQA (Hao et al. 2024, arXiv 2412.06769, section 4.1), with letters instead of sentences. A worked solution
 * lists the edges of the path: `ab;bd`.
 */
export function graphPathTask({ terms, nodes }: GraphPathSettings): Task {
	const fewest = 2 * (terms + 1);
	if (nodes < fewest) {
		throw new Failure(
			'invalid',
			`The task "graph-path" needs two paths with ${terms + 1} nodes each, but has only ${nodes} nodes.`,
			`Set "nodes" to at least ${fewest}, or reduce "terms".`,
		);
	}
	const maxEdges = 2 * terms + 2 * (nodes - fewest);
	const known = letters.slice(0, nodes);
	return {
		name: 'graph-path',
		symbols: [...known, ' ', ':', '?', ';'],
		maxPromptLength: 3 * maxEdges + 4,
		maxSolutionLength: 3 * terms - 1,
		maxAnswerLength: 1,
		sample(random: Random): TaskProblem {
			const names = random.shuffle([...known]);
			const name = (node: number) => names[node] as string;
			const edges = random.shuffle(graphEdges(random, { terms, nodes })).map(([a, b]) => name(a) + name(b));
			const [start, answer] = [name(0), name(terms)];
			const ends = random.shuffle([answer, name(2 * terms + 1)]);
			return {
				prompt: `${edges.join(' ')}:${start}?${ends.join('')}`,
				answer,
				solution: Array.from({ length: terms }, (_, i) => name(i) + name(i + 1)).join(';'),
				key: `${[...edges].sort().join(' ')}:${start}?${[...ends].sort().join('')}`,
				row: { edges, start, ends },
			};
		},
		verify: ({ answer: gold }, answer) => gold !== null && answer.trim() === gold,
	};
}
