import type { NodeRole, StopReason, TreeEventOf } from '../../protocol/treeLog.ts';

/** Current state of a node. Fields are readonly because only the tree may change them. */
export interface TreeNode {
	readonly id: number;
	readonly parents: readonly number[];
	readonly children: readonly number[];
	/** Number of steps from the root along first parents. */
	readonly depth: number;
	readonly text: string;
	readonly role: NodeRole;
	readonly label: string | null;
	readonly final: boolean;
	readonly answer: string | null;
	readonly finish: string | null;
	readonly by: 'policy' | 'person';
	/** Number of leading characters written by the policy; null if it wrote the whole text. */
	readonly written: number | null;
	/** Reward of the episode that ends here; null if there is none. */
	readonly reward: number | null;
	/** Whether the text stands alone instead of continuing the first parent's text. */
	readonly fresh: boolean;
	readonly logprob: number | null;
	readonly prior: number | null;
	readonly tokens: number | null;
	readonly entropy: number | null;
	/** Last value from each scorer. */
	readonly scores: ReadonlyMap<string, number | null>;
	/** Last value from any scorer; null if there is none. */
	readonly score: number | null;
	/** Number of simulations through the node (N). */
	readonly visits: number;
	/** Sum and maximum of the backed-up values, from which Q is derived (see {@link SearchTree.q}). */
	readonly total: number;
	readonly greatest: number;
	readonly pruned: string | null;
	readonly mergedInto: number | null;
	/** Index of the event that created the node. */
	readonly born: number;
	/** Creation time in seconds since the start of the search. */
	readonly bornAt: number;
}

export type Mutable = { -readonly [K in keyof TreeNode]: TreeNode[K] } & {
	children: number[];
};

/** Roles whose text does not continue the parent's. */
export const freshRoles: ReadonlySet<NodeRole> = new Set(['draft', 'critique', 'revision', 'aggregate', 'subproblem']);

export const noScores: ReadonlyMap<string, number | null> = new Map();

/** Shared by all leaf nodes; never modified. */
export const noChildren: number[] = [];

/** Agent events that are attached to a node. */
export type AgentNote = TreeEventOf<'critique'> | TreeEventOf<'tool'> | TreeEventOf<'reference'>;

export interface SearchOutcome {
	readonly best: readonly number[] | null;
	readonly answer: string | null;
	readonly value: number | null;
	readonly stop: StopReason;
}
