import { Failure } from '../../base/failure.ts';
import type { SearchBudget, TreeEvent, TreeEventOf } from '../../protocol/treeLog.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { SearchTotals } from './budgetMeter.ts';
import type { TokenDetail } from './policy.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';
import { statedIn } from './statedIn.ts';

/** How a search goes on with what is in a log. */
export interface SearchResume {
	/** The log as far as it goes; where it ends does not matter. */
	readonly events: Iterable<TreeEvent>;
	/** `more`: the strategy goes on; `branch`: below `node` alone; `edit`, `force`: below a sibling of `node`, made by a person. */
	readonly action: 'more' | 'branch' | 'edit' | 'force';
	readonly node?: number | null;
	/** `edit`: the sibling's text; `force`: the token in place of the node's. */
	readonly text?: string;
	/** `force`: place of the token among those of the node. */
	readonly token?: number;
}

export interface ReadLog {
	readonly totals: SearchTotals;
	/** Parts of the search that came to an end, or were begun below a node: the next one has streams of its own. */
	readonly parts: number;
	/** Its last part made something and has no end: its process was killed. */
	readonly isCut: boolean;
	readonly details: Map<number, TokenDetail>;
}

/** Makes the tree of a log, with what was used up to its end; what makes no sense in it is left out. */
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

/** The events by which a search goes on; the last is the node of a person, where there is one. `invalid` when it cannot. */
export function goOn(
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
		throw new Failure('invalid', 'The log has no prefix to continue the search from.', 'Start a new search.');
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
	if (node === undefined) throw new Failure('invalid', `The search has no node ${id ?? ''} to continue from.`);
	if (action === 'branch') {
		if (node.final)
			throw new Failure('invalid', `Node ${id} is final and cannot be continued.`, 'Branch from its parent.');
		// Who branches from what was pruned wants it open again.
		return node.pruned === null ? [resume] : [resume, { t: 'restore', at, id: node.id }];
	}
	if (node.parents.length === 0) {
		throw new Failure('invalid', 'The problem node cannot be edited.', 'Start a new search with another problem.');
	}
	const written = action === 'edit' ? (text ?? '') : forced(node, details.get(node.id), token, text);
	if (written === '') throw new Failure('invalid', 'The text of the new node is empty.');
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

/** The node's text up to a token, with another in its place. */
function forced(
	node: TreeNode,
	detail: TokenDetail | undefined,
	token: number | undefined,
	text: string | undefined,
): string {
	if (detail === undefined) {
		throw new Failure(
			'invalid',
			`The tokens of node ${node.id} were not recorded, so none of them can be forced.`,
			'Search with more token details recorded, or edit the text.',
		);
	}
	if (token === undefined || token < 0 || token >= detail.text.length || text === undefined) {
		throw new Failure('invalid', `Node ${node.id} has no token ${token ?? ''}.`);
	}
	return detail.text.slice(0, token).join('') + text;
}
