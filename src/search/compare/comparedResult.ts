import { AnswerClasses } from '../../core/search/answerClasses.ts';
import type { SearchResult } from '../../core/search/searchRun.ts';
import type { SearchTree } from '../../core/search/searchTree.ts';
import type { TreeNode } from '../../core/search/treeNode.ts';
import type { ComparisonResult, SampleResult } from '../../protocol/strategyComparison.ts';

/** Identifies what a search was run for. */
export interface ResultContext {
	readonly point: string;
	/** Problem number. */
	readonly problem: number;
	/** Whether the search was over episodes. */
	readonly episodes: boolean;
	/** Names of the scorers for independent samples; null if the search is not a set of samples. */
	readonly samples: readonly string[] | null;
	/** Why the latest failed episode failed; null if none failed. */
	readonly fault: string | null;
	readonly judge: (node: TreeNode | undefined) => 0 | 1 | null;
}

/** Returns the data that a comparison keeps about a search. */
export function comparedResult(context: ResultContext, search: SearchResult): ComparisonResult {
	const { point, problem, episodes, samples, judge } = context;
	const { outcome, totals, tree } = search;
	const end = outcome.best?.at(-1);
	const chosen = end === undefined ? undefined : tree.node(end);
	const finals = tree.nodes.filter(({ final, pruned }) => final && pruned === null);
	const { tokens, promptTokens, nodes, simulations, seconds, cost } = totals;
	const failed = failureOf(context, search, finals);
	return {
		point,
		problem,
		correct: judge(chosen),
		answer: outcome.answer,
		any: finals.map(judge).includes(1) ? 1 : judge(undefined),
		value: outcome.value,
		...(episodes ? { reward: chosen?.reward ?? null } : {}),
		stop: outcome.stop,
		...{ tokens, promptTokens, nodes, simulations, seconds, cost },
		...(failed === null ? {} : { failed }),
		...(samples === null ? {} : { samples: samplesOf(context, tree, samples) }),
	};
}

/** Returns the result for a problem whose episodes could not start. */
export function unposedResult(point: string, problem: number, message: string): ComparisonResult {
	return {
		...{ point, problem, correct: null, answer: null, any: null, value: null, reward: null },
		...{ stop: 'environment', tokens: 0, promptTokens: null, nodes: 0, simulations: 0, seconds: 0, cost: null },
		failed: message,
	};
}

/** Returns why the result says nothing about the strategy, or null if it is usable. */
function failureOf(
	{ fault }: ResultContext,
	{ outcome, message }: SearchResult,
	finals: readonly TreeNode[],
): string | null {
	const { stop } = outcome;
	if (stop === 'policy' || stop === 'scorer' || stop === 'environment') return message ?? `The ${stop} failed.`;
	if (finals.length === 0 || !finals.every(isFailedEpisode)) return null;
	return `All episodes failed${fault === null ? '.' : `: ${fault}`}`;
}

/** Whether an episode ended because its environment failed. Such an end says nothing about the policy. */
const isFailedEpisode = ({ finish }: TreeNode): boolean => finish === 'error';

/** Returns the independent completions in a tree. Each is one node or, for an episode, a chain of turns. */
function samplesOf({ judge, episodes }: ResultContext, tree: SearchTree, names: readonly string[]): SampleResult[] {
	const classes = new AnswerClasses();
	const ends = tree.nodes.filter(({ id, children }) => id !== 0 && children.length === 0);
	// An episode has no reward if it failed, or if its environment provides none.
	const known = episodes ? ends.filter(({ reward }) => reward !== null) : ends;
	return known.map((node) => ({
		correct: judge(node),
		class: node.answer === null ? null : classes.of(node.answer),
		final: node.final,
		tokens: tree.partsOf(node.id).reduce((sum, id) => sum + (tree.node(id)?.tokens ?? 0), 0),
		...(names.length === 0 ? {} : { scores: names.map((name) => node.scores.get(name) ?? null) }),
	}));
}
