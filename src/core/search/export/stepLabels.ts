import type { StepSample } from '../../export/prm/stepSample.ts';
import type { SearchTree } from '../searchTree.ts';
import type { TreeNode } from '../treeNode.ts';
import { completionLabel, endsOf, problemOf, type Right } from './treeFacts.ts';

/** Number of completions through a node, and how many are correct. */
export interface Completions {
	readonly right: number;
	readonly total: number;
}

/**
 * Returns completion counts by node number. They cover the completions sampled to evaluate the node or, if there are
 * none, all finished completions that continue its text, including the node itself. Completions of unknown correctness
 * are excluded.
 */
export function completionsOf(tree: SearchTree, right: Right): Completions[] {
	const through = tree.nodes.map(() => ({ right: 0, total: 0 }));
	const made = new Map<number, Counted>();
	const add = (count: Counted, judged: boolean) => {
		count.total++;
		if (judged) count.right++;
	};
	for (const end of tree.nodes) {
		const judged = end.final && end.role !== 'problem' ? right(end) : null;
		if (judged === null) continue;
		for (const id of tree.partsOf(end.id)) add(through[id] as Counted, judged);
		const [from] = end.parents;
		if (end.label !== completionLabel || from === undefined) continue;
		const count = made.get(from) ?? { right: 0, total: 0 };
		made.set(from, count);
		add(count, judged);
	}
	return through.map((count, id) => made.get(id) ?? count);
}

type Counted = { -readonly [K in keyof Completions]: Completions[K] };

/**
 * Computes a Math-Shepherd label by soft estimation (Wang et al. 2024, section 3.3.2, equation 4): the fraction of a
 * step's completions that reach the correct answer. null if there are no completions.
 */
export function softLabel({ right, total }: Completions): number | null {
	return total === 0 ? null : right / total;
}

export interface StepLabelOptions {
	/** Minimum number of completions needed to label a step; the last step is labeled by its own answer. Default: 1. */
	readonly min?: number;
	/**
	 * Minimum fraction of correct completions for a step to count as correct. By default one correct completion is enough
	 * (hard estimation).
	 */
	readonly threshold?: number;
}

/** A solution with one label per step. */
export interface LabeledSolution {
	readonly end: number;
	/** Soft labels, parallel to the steps in the sample. */
	readonly soft: readonly (number | null)[];
	/** Hard labels as ratings, in the input format of the process reward data writers (core/export/prm). */
	readonly sample: StepSample;
}

/** Returns all solutions in a search with their step labels, oldest first. Skips whitespace-only steps. */
export function labeledSolutions(
	tree: SearchTree,
	right: Right,
	{ min = 1, threshold }: StepLabelOptions = {},
): LabeledSolution[] {
	const counts = completionsOf(tree, right);
	const { prompt, answer } = problemOf(tree);
	const solutions = endsOf(tree).filter(({ label }) => label !== completionLabel);
	return solutions.map(({ id: end }) => {
		const parts = tree.partsOf(end).map((id) => tree.node(id) as TreeNode);
		const steps = parts.filter(({ text }) => text.trim() !== '');
		const soft = steps.map(({ id }) => {
			const count = counts[id] as Completions;
			return count.total < min && id !== end ? null : softLabel(count);
		});
		const rating = (value: number | null) => {
			if (value === null) return null;
			return (threshold === undefined ? value > 0 : value >= threshold) ? (1 as const) : (-1 as const);
		};
		return {
			end,
			soft,
			sample: {
				prompt,
				answer: answer ?? null,
				steps: steps.map(({ text }, i) => ({ text: text.trim(), rating: rating(soft[i] ?? null) })),
				time: null,
			},
		};
	});
}

/** Line with soft labels, a variant of TRL's stepwise supervision format, which has boolean labels. */
export interface SoftStepLine {
	readonly prompt: string;
	readonly completions: readonly string[];
	/** Labels from 0 to 1. */
	readonly labels: readonly number[];
}

/** Converts a solution up to its first unlabeled step; null if the first step has no label. */
export function softStepLine({ soft, sample }: LabeledSolution): SoftStepLine | null {
	const open = soft.indexOf(null);
	const labels = (open < 0 ? soft : soft.slice(0, open)) as number[];
	if (labels.length === 0) return null;
	return { prompt: sample.prompt, completions: sample.steps.slice(0, labels.length).map(({ text }) => text), labels };
}
