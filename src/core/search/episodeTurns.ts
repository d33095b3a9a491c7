import type { TreeEvent, TreeEventInput } from '../../protocol/treeLog.ts';
import type { SearchTurn, TurnCall } from './policy.ts';
import type { SearchTree } from './searchTree.ts';
import type { TreeNode } from './treeNode.ts';

type ToolEvent = Omit<Extract<TreeEventInput, { t: 'tool' }>, 'at'>;
type ReadToolEvent = Extract<TreeEvent, { t: 'tool' }>;

/**
 * Returns the path to a node as episode turns, one per node. A turn without calls that is not the last one
 * was truncated by a budget, so it is the start of the next turn.
 */
export function turnsOf(tree: SearchTree, node: number): SearchTurn[] {
	const turns: SearchTurn[] = [];
	for (const id of tree.partsOf(node)) {
		const { text, written } = tree.node(id) as TreeNode;
		const calls = tree.notesOf(id).flatMap((note) => (note.t === 'tool' ? [callOf(note)] : []));
		const before = turns.at(-1)?.calls.length === 0 ? (turns.pop()?.text ?? '') : '';
		turns.push({ text: before + text.slice(0, written ?? text.length), calls });
	}
	return turns;
}

/** Returns the log events for a node's calls. */
export function toolEvents(id: number, calls: readonly TurnCall[]): ToolEvent[] {
	return calls.map(({ name, arguments: given, result, failed, seconds }) => ({
		t: 'tool',
		id,
		name,
		arguments: given ?? null,
		...(failed ? { error: result } : { result }),
		...(seconds === undefined ? {} : { seconds }),
	}));
}

/** Logs are untrusted, so a result can be any value. */
function callOf({ name, arguments: given, result, error }: ReadToolEvent): TurnCall {
	const text = typeof result === 'string' ? result : JSON.stringify(result ?? null);
	return { name, arguments: given, result: error ?? text, failed: error !== undefined };
}
