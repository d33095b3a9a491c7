import type { Random } from '../../base/random.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { NodeRole, SearchProblem } from '../../protocol/treeLog.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { Policy, TokenDetail } from './policy.ts';
import type { Scorer } from './scorer.ts';
import type { SearchTree } from './searchTree.ts';
import type { TreeNode } from './treeNode.ts';

/** Default sampling settings for a search, which strategies can override. */
export interface Sampling {
	readonly temperature: number;
	readonly topP: number;
	/** Token limit per completion. */
	readonly maxTokens: number;
	/** Token limit per step. */
	readonly maxStepTokens: number;
	/** Level of token detail; see `GenerateRequest.tokens`. */
	readonly tokens: number;
}

/**
 * Where a step ends: a splitSteps rule (core/trace), a string such as an end-of-step token, or `completion` to treat
 * the rest as one step.
 */
export type StepSplit =
	| 'lines'
	| 'paragraphs'
	| 'sentences'
	| `tokens-${number}`
	| 'completion'
	/** A turn of an episode. Only for policies that play episodes. */
	| 'turns'
	| { readonly text: string };

export type GenerateUnit = 'step' | 'completion';

export interface GenerateOptions {
	/** Number of children. Default: 1. */
	readonly n?: number;
	/** `step`: generates up to the end of the next step; `completion`: generates the rest of the completion. */
	readonly unit: GenerateUnit;
	/** Overrides the search's sampling settings. */
	readonly sampling?: Partial<Sampling>;
	/**
	 * Conversation to use in place of the problem, for strategies that give instructions. It is followed by the
	 * completion so far.
	 */
	readonly messages?: readonly ChatMessage[];
	/**
	 * Whether the generated text stands alone instead of continuing the node's text; `textOf` then starts with it. Always
	 * true for nodes with the role `draft`, `revision`, `aggregate`, `critique` or `subproblem`.
	 */
	readonly fresh?: boolean;
	/**
	 * Stop strings in addition to those of the step rule. They are excluded from the node's text. A generation that
	 * stopped at one has `finish: 'stop'` and is not final, nor is a generation truncated before a stop string.
	 */
	readonly stop?: readonly string[];
	/**
	 * Returns token positions, in ascending order and greater than 0, at which to split the generation into a chain of
	 * nodes. Each node starts with the token at its position. `generate` returns the last node in the chain.
	 */
	readonly cut?: (detail: TokenDetail) => readonly number[];
	readonly role?: NodeRole;
	/** Parents of the generated nodes. Default: the node. */
	readonly parents?: readonly number[];
	readonly label?: string;
}

/**
 * Search operators (Besta et al. 2025, "Reasoning Language Models: A Blueprint"): generate and expand, evaluate,
 * select, backtrack and back up, prune, aggregate, refine, restructure. Each operator logs its events and is charged
 * against the budget. Several operators can be in flight; concurrent requests to the policy and to scorers are batched.
 * An operator throws `SearchStop` if it cannot proceed because the budget is exhausted, the user stopped the search, or
 * the policy is unavailable; strategies should let the exception propagate.
 */
export interface Search {
	readonly problem: SearchProblem;
	readonly tree: SearchTree;
	/** Node at which the strategy starts: 0, or the node the user branched from. */
	readonly root: number;
	/**
	 * Whether the search continues the log of a process that was killed. If so, a strategy with no remaining work
	 * concludes; if not (the log has an end event), it runs once more.
	 */
	readonly isCut: boolean;
	readonly policy: Policy;
	/** Scorer that guides the search, and scorer that selects among final nodes; often the same. null if not set. */
	readonly guide: Scorer | null;
	readonly judge: Scorer | null;
	readonly sampling: Sampling;
	/** Tags around the thinking and the answer in a completion. */
	readonly tags: TraceTags;
	/** Number of operators that a strategy should keep in flight. */
	readonly concurrency: number;
	/** Returns a separate random stream for each purpose and position, so that results do not depend on reply order. */
	random(...purpose: readonly (string | number)[]): Random;

	/** Generates children of a node; returns fewer than requested if a request failed or returned nothing. */
	generate(node: number, options: GenerateOptions): Promise<readonly TreeNode[]>;
	/**
	 * Requests policy replies that do not become nodes, such as votes, values or plans. A missing reply is returned as
	 * ''.
	 */
	ask(messages: readonly ChatMessage[], options?: AskOptions): Promise<readonly string[]>;
	/** Adds a node that was not generated, such as an aggregate of other nodes, a tool result, or text from the user. */
	add(node: NewNode): TreeNode;
	/**
	 * Scores nodes and logs the values, or null for nodes without one. Default scorer: the guide, or the judge for final
	 * nodes.
	 */
	evaluate(nodes: readonly number[], scorer?: Scorer): Promise<readonly (number | null)[]>;
	/** Logs the node that the strategy continues from. */
	select(node: number, candidates?: readonly { readonly id: number; readonly value: number }[]): void;
	/** Backs up values along a path, root first; one value per node. */
	backup(path: readonly number[], values: readonly number[]): void;
	prune(node: number, reason: string): void;
	merge(node: number, into: number): void;
	/** Charges one simulation against the budget; throws `SearchStop` if none remain. */
	simulation(): void;
	/**
	 * Yields so that a stop can take effect. Code that runs for a long time without a request must await the result
	 * unless it is null.
	 */
	breathe(): Promise<void> | null;
	/** Runs tasks with at most `concurrency` in flight; returns results in item order. */
	parallel<T, R>(items: readonly T[], task: (item: T, index: number) => Promise<R>): Promise<R[]>;
	/** Returns whether two answers are equivalent under the accuracy reward. */
	sameAnswer(a: string, b: string): boolean;
	/** Returns the index of an answer's equivalence class. */
	answerClass(answer: string): number;
	/** Returns the completion from the problem to a node. */
	textOf(node: number): string;
	/** Returns the answer in a completion, based on the tags; null if there is none. */
	answerIn(completion: string): string | null;
	/** Returns a node's token details, from the policy or from a log; null if unknown. */
	tokensOf(node: number): TokenDetail | null;
	/** Logs any other event: critique, tool, reference, fault. */
	note(event: SearchNote): void;
}

export interface AskOptions {
	readonly n?: number;
	readonly temperature?: number;
	readonly maxTokens?: number;
	readonly stop?: readonly string[];
	readonly schema?: Readonly<Record<string, unknown>>;
}

export interface NewNode {
	readonly parents: readonly number[];
	readonly text: string;
	readonly role?: NodeRole;
	readonly final?: boolean;
	readonly answer?: string | null;
	/**
	 * Whether the text stands alone instead of continuing the first parent's text. Default: true if there are several
	 * parents.
	 */
	readonly fresh?: boolean;
	readonly label?: string;
	readonly prior?: number | null;
	readonly tokens?: number | null;
	readonly data?: Readonly<Record<string, unknown>>;
}

type NoteOf<T extends string> = Omit<Extract<import('../../protocol/treeLog.ts').TreeEventInput, { t: T }>, 'at'>;
export type SearchNote = NoteOf<'critique'> | NoteOf<'tool'> | NoteOf<'reference'> | NoteOf<'fault'> | NoteOf<'score'>;
