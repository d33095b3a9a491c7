import type { Random } from '../../base/random.ts';
import type { ChatMessage } from '../../protocol/scorer.ts';
import type { NodeRole, SearchProblem } from '../../protocol/treeLog.ts';
import type { TraceTags } from '../trace/trace.ts';
import type { Policy, TokenDetail } from './policy.ts';
import type { Scorer } from './scorer.ts';
import type { SearchTree, TreeNode } from './searchTree.ts';

/** How thoughts are asked for when a strategy does not say otherwise. */
export interface Sampling {
	readonly temperature: number;
	readonly topP: number;
	/** Of a whole completion. */
	readonly maxTokens: number;
	/** Of one step. */
	readonly maxStepTokens: number;
	/** Per token: see `GenerateRequest.tokens`. */
	readonly tokens: number;
}

/**
 * Where a step ends: a rule of splitSteps (core/trace), a text such as an end-of-step token, or `completion`: a step is all
 * that is left.
 */
export type StepSplit =
	| 'lines'
	| 'paragraphs'
	| 'sentences'
	| `tokens-${number}`
	| 'completion'
	| { readonly text: string };

export type GenerateUnit = 'step' | 'completion';

export interface GenerateOptions {
	/** Children that are wanted. Default 1. */
	readonly n?: number;
	/** `step`: up to the end of the next step; `completion`: to the end. */
	readonly unit: GenerateUnit;
	/** Instead of the search's. */
	readonly sampling?: Partial<Sampling>;
	/** Instead of the problem alone: a conversation, for strategies that instruct. The completion so far follows it. */
	readonly messages?: readonly ChatMessage[];
	/**
	 * Do not go on from the node's text: what is generated stands for itself, and `textOf` begins with it. So do the texts of
	 * all nodes whose role is `draft`, `revision`, `aggregate`, `critique` or `subproblem`.
	 */
	readonly fresh?: boolean;
	/**
	 * Texts that end it besides those of the step's end. They are no part of the node's text: what stopped at one has
	 * `finish: 'stop'`, and neither it nor what was cut off by its length before is final.
	 */
	readonly stop?: readonly string[];
	/**
	 * Places in the tokens of what was generated, ascending and above 0, at which it is cut into a chain of nodes: the node
	 * of a place begins with that token. The last node of the chain is what `generate` returns.
	 */
	readonly cut?: (detail: TokenDetail) => readonly number[];
	readonly role?: NodeRole;
	/** Parents of what is made; default: the node. */
	readonly parents?: readonly number[];
	readonly label?: string;
}

/**
 * The operators of search (Besta et al. 2025, "Reasoning Language Models: A Blueprint"): generate and expand, evaluate,
 * select, backtrack and back up, prune, aggregate, refine, restructure. Each leaves its events in the log and its share in
 * the budget. Several may be under way at a time; requests to the policy and to scorers that are made together go together.
 * Whatever cannot be done for want of budget, because a person stopped the search or because the policy is gone throws
 * `SearchStop`, which a strategy lets pass.
 */
export interface Search {
	readonly problem: SearchProblem;
	readonly tree: SearchTree;
	/** Node that the strategy starts from: 0, or the one that a person branched from. */
	readonly root: number;
	/**
	 * It continues a log whose process was killed. A strategy that has nothing left to do then concludes; of a log that has its
	 * end, it is asked for as much again.
	 */
	readonly isCut: boolean;
	readonly policy: Policy;
	/** The scorer that guides, and the one that chooses among what is final; often the same. null: none. */
	readonly guide: Scorer | null;
	readonly judge: Scorer | null;
	readonly sampling: Sampling;
	/** Around the thinking and the answer of a completion. */
	readonly tags: TraceTags;
	/** How many operators a strategy should keep under way. */
	readonly concurrency: number;
	/** A stream of its own for each purpose and place: results do not depend on the order of answers. */
	random(...purpose: readonly (string | number)[]): Random;

	/** Children of a node that the policy writes; fewer than asked where a request failed or gave nothing. */
	generate(node: number, options: GenerateOptions): Promise<readonly TreeNode[]>;
	/** A text of the policy that becomes no node: a vote, a value, a plan. '' where it gave nothing. */
	ask(messages: readonly ChatMessage[], options?: AskOptions): Promise<readonly string[]>;
	/** Adds a node that is not generated: an aggregate of others, a tool's result, a person's text. */
	add(node: NewNode): TreeNode;
	/** Values of nodes by a scorer (default: the guide, or the judge for what is final), logged; null: no value. */
	evaluate(nodes: readonly number[], scorer?: Scorer): Promise<readonly (number | null)[]>;
	/** Notes what the strategy goes on with. */
	select(node: number, candidates?: readonly { readonly id: number; readonly value: number }[]): void;
	/** Backs values up a path, root first: one value a node. */
	backup(path: readonly number[], values: readonly number[]): void;
	prune(node: number, reason: string): void;
	merge(node: number, into: number): void;
	/** Counts one simulation against the budget; throws `SearchStop` when there is none left. */
	simulation(): void;
	/** To be waited for, unless null, by who may go on for long without asking anything: a stop could not be heard. */
	breathe(): Promise<void> | null;
	/** Runs tasks with at most `concurrency` under way; results in the order of the items. */
	parallel<T, R>(items: readonly T[], task: (item: T, index: number) => Promise<R>): Promise<R[]>;
	/** Whether two stated answers are the same by the accuracy reward's equivalence. */
	sameAnswer(a: string, b: string): boolean;
	/** Number of the class of equivalent answers that a stated answer belongs to. */
	answerClass(answer: string): number;
	/** All of the completion from the problem to a node. */
	textOf(node: number): string;
	/** The answer that a completion states, by the tags; null: none. */
	answerIn(completion: string): string | null;
	/** A node token by token, as the policy told it, also out of a log; null: not told. */
	tokensOf(node: number): TokenDetail | null;
	/** Writes an event of another kind: critique, tool, reference, fault. */
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
	/** Its text does not go on from its first parent's. Default: when it has several. */
	readonly fresh?: boolean;
	readonly label?: string;
	readonly prior?: number | null;
	readonly tokens?: number | null;
	readonly data?: Readonly<Record<string, unknown>>;
}

type NoteOf<T extends string> = Omit<Extract<import('../../protocol/treeLog.ts').TreeEventInput, { t: T }>, 'at'>;
export type SearchNote = NoteOf<'critique'> | NoteOf<'tool'> | NoteOf<'reference'> | NoteOf<'fault'> | NoteOf<'score'>;
