import type { StepSample } from '../../export/prm/stepSample.ts';
import type { SearchTree, TreeNode } from '../searchTree.ts';
import { completionLabel, endsOf, problemOf, type Right } from './treeFacts.ts';

/** Completions that pass through a node, and how many of them are correct. */
export interface Completions {
	readonly right: number;
	readonly total: number;
}

/**
 * Returns the outcomes of each node's completions, by node number: of the completions sampled to value it or, if there
 * are none, of all finished completions that continue its text, including itself. Completions that cannot be judged do
 * not count.
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
 * Labels of Math-Shepherd (Wang et al. 2024, section 3.3.2). Soft estimation (equation 4): the share of a step's
 * completions that reach the correct answer; hard estimation (equation 3): whether any does. null if there are no
 * completions.
 */
export function softLabel({ right, total }: Completions): number | null {
	return total === 0 ? null : right / total;
}

export function hardLabel({ right, total }: Completions): boolean | null {
	return total === 0 ? null : right > 0;
}

export interface StepLabelOptions {
	/** Min completions that a step needs for a label; the last step is judged by its own answer. Default 1. */
	readonly least?: number;
	/** A step is correct if at least this share of its completions is; absent: if any is (hard estimation). */
	readonly threshold?: number;
}

/** A solution with a label per step. */
export interface LabeledSolution {
	readonly end: number;
	/** Soft labels, parallel to the steps of the sample. */
	readonly soft: readonly (number | null)[];
	/** Hard labels as ratings, the input of the process reward data writers (core/export/prm). */
	readonly sample: StepSample;
}

/** Returns every solution of a search with its step labels, oldest first; whitespace-only steps are skipped. */
export function labeledSolutions(
	tree: SearchTree,
	right: Right,
	{ least = 1, threshold }: StepLabelOptions = {},
): LabeledSolution[] {
	const counts = completionsOf(tree, right);
	const { prompt, answer } = problemOf(tree);
	const solutions = endsOf(tree).filter(({ label }) => label !== completionLabel);
	return solutions.map(({ id: end }) => {
		const parts = tree.partsOf(end).map((id) => tree.node(id) as TreeNode);
		const steps = parts.filter(({ text }) => text.trim() !== '');
		const soft = steps.map(({ id }) => {
			const count = counts[id] as Completions;
			return count.total < least && id !== end ? null : softLabel(count);
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

/** A line of soft labels, next to TRL's stepwise supervision, whose labels are booleans. */
export interface SoftStepLine {
	readonly prompt: string;
	readonly completions: readonly string[];
	/** 0 to 1. */
	readonly labels: readonly number[];
}

/** Returns null if the first step has no label. The line ends before the first step without one. */
export function softStepLine({ soft, sample }: LabeledSolution): SoftStepLine | null {
	const open = soft.indexOf(null);
	const labels = (open < 0 ? soft : soft.slice(0, open)) as number[];
	if (labels.length === 0) return null;
	return { prompt: sample.prompt, completions: sample.steps.slice(0, labels.length).map(({ text }) => text), labels };
}
