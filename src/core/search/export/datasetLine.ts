import type { SearchTree } from '../searchTree.ts';
import { type Measure, nodeValue, problemOf } from './treeFacts.ts';

/** A line of the uniform dataset of searches. */
export interface DatasetLine {
	readonly prompt: string;
	/** The solution as split by the search; the steps concatenate to the solution. */
	readonly steps: readonly string[];
	readonly solution: string;
	/** null if it was not scored. */
	readonly reward: number | null;
}

/** Returns the line for the completion that ends in a node. */
export function datasetLine(tree: SearchTree, end: number, measure: Measure = {}): DatasetLine {
	const steps = tree.partsOf(end).map((id) => tree.node(id)?.text ?? '');
	return {
		prompt: problemOf(tree).prompt,
		steps: steps.filter((step) => step !== ''),
		solution: steps.join(''),
		reward: nodeValue(tree, end, measure),
	};
}
