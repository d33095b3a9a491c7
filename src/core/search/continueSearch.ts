import { Failure } from '../../base/failure.ts';
import type { SearchBudget, TreeEvent, TreeEventOf } from '../../protocol/treeLog.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { SearchTotals } from './budgetMeter.ts';
import type { TokenDetail } from './policy.ts';
import type { SearchTree } from './searchTree.ts';
import { statedIn } from './statedIn.ts';
import type { TreeNode } from './treeNode.ts';

/** How to continue a search from its log. */
export interface SearchResume {
	/** Complete events in the log, which may have been truncated at any point. */
	readonly events: Iterable<TreeEvent>;
	/**
	 * `more`: continues the strategy; `branch`: continues only below `node`; `edit`, `force`: continues below a sibling
	 * of `node` created by the user.
	 */
	readonly action: 'more' | 'branch' | 'edit' | 'force';
	readonly node?: number | null;
	/** Text of the sibling (`edit`) or the replacement token (`force`). */
	readonly text?: string;
	/** Index of the replaced token in the node; only for `force`. */
	readonly token?: number;
}

export interface ReadLog {
	readonly totals: SearchTotals;
	/**
	 * Number of previous parts of the search, counting both parts that ended and parts that were started below a node.
	 * The next part uses different random streams.
	 */
	readonly parts: number;
	/** Whether the last part has nodes but no end event, because its process was killed. */
	readonly isCut: boolean;
	readonly details: Map<number, TokenDetail>;
}

/** Rebuilds the tree and resource usage from a log, skipping invalid events. */
export function readLog(events: Iterable<TreeEvent>, tree: SearchTree): ReadLog {
	let totals: SearchTotals = { nodes: 0, tokens: 0, promptTokens: null, simulations: 0, cost: null, seconds: 0 };
	let parts = 0;
	let isCut = false;
	const details = new Map<number, TokenDetail>();
	for (const event of events) {
		const applied = tree.apply(event);
		if (Number.isFinite(event.at)) totals.seconds = Math.max(totals.seconds, event.at);
		if (!applied) continue;
		if (event.t === 'node' && event.parents.length > 0) {
			isCut = true;
			totals.nodes++;
			totals.tokens += event.tokens ?? 0;
		} else if (event.t === 'visit') {
			isCut = true;
			totals.simulations += event.times;
		} else if (event.t === 'tokens') details.set(event.id, event as TokenDetail & TreeEventOf<'tokens'>);
		else if (event.t === 'resume') {
			isCut = false;
			parts += event.action === 'more' ? 0 : 1;
		} else if (event.t === 'end') {
			isCut = false;
			parts++;
			const { tokens, promptTokens, simulations, cost } = event;
			totals = { ...totals, tokens, promptTokens, simulations, cost };
		}
	}
	return { totals, parts, isCut, details };
}

/**
 * Returns the events that continue a search, ending with the node created by the user, if any. Throws `invalid` if the
 * search cannot be continued.
 */
export function continuationEvents(
	tree: SearchTree,
	{ action, node: id = null, text, token }: SearchResume,
	details: ReadonlyMap<number, TokenDetail>,
	begin: {
		readonly at: number;
		readonly budget: SearchBudget;
		readonly strategy?: string;
		readonly params: Record<string, unknown>;
		readonly tags: TraceTags;
	},
): TreeEvent[] {
	if (tree.start === null || tree.nodes.length === 0) {
		throw new Failure('invalid', 'The search cannot be continued: its log has no start event.', 'Start a new search.');
	}
	const { at, budget, strategy, params, tags } = begin;
	const resume: TreeEvent = {
		t: 'resume',
		at,
		budget,
		action,
		node: id,
		...(strategy === undefined ? {} : { strategy }),
		params,
	};
	if (action === 'more') return [resume];
	const node = id === null ? undefined : tree.node(id);
	if (node === undefined)
		throw new Failure('invalid', `Cannot continue from node ${id ?? ''}: the search has no such node.`);
	if (action === 'branch') {
		if (node.final)
			throw new Failure('invalid', `Cannot continue from node ${id}: it is final.`, 'Branch from its parent.');
		// Branching from a pruned node restores it.
		return node.pruned === null ? [resume] : [resume, { t: 'restore', at, id: node.id }];
	}
	if (node.parents.length === 0) {
		throw new Failure('invalid', 'The problem node cannot be edited.', 'Start a new search with a different problem.');
	}
	const written = action === 'edit' ? (text ?? '') : forced(node, details.get(node.id), token, text);
	if (written === '') throw new Failure('invalid', 'The new node has no text.');
	const whole = node.fresh ? written : tree.textOf(node.parents[0] as number) + written;
	const final = tags.answer !== null && whole.includes(tags.answer[1]);
	return [
		resume,
		{
			t: 'node',
			at,
			id: tree.nodes.length,
			parents: [...node.parents],
			text: written,
			role: node.role === 'answer' ? 'thought' : node.role,
			final,
			answer: final ? statedIn(whole, tags) : null,
			by: 'person',
			...(node.fresh ? { fresh: true } : {}),
		},
	];
}

/** Returns the node's text before a token, followed by the replacement token. */
function forced(
	node: TreeNode,
	detail: TokenDetail | undefined,
	token: number | undefined,
	text: string | undefined,
): string {
	if (detail === undefined) {
		throw new Failure(
			'invalid',
			`Cannot force a token: the tokens of node ${node.id} were not recorded.`,
			'Enable recording of token details for the search, or edit the text.',
		);
	}
	if (token === undefined || token < 0 || token >= detail.text.length || text === undefined) {
		throw new Failure('invalid', `Node ${node.id} has no token ${token ?? ''}.`);
	}
	return detail.text.slice(0, token).join('') + text;
}
