import type { SearchTree } from '../searchTree.ts';
import { type Measure, nodeValue, problemOf } from './treeFacts.ts';

/** Line in the uniform search dataset. */
export interface DatasetLine {
	readonly prompt: string;
	/** Steps as split by the search; concatenated, they form the solution. */
	readonly steps: readonly string[];
	readonly solution: string;
	/** null if the solution was not scored. */
	readonly reward: number | null;
}

/** Returns the dataset line for the completion that ends at a node. */
export function datasetLine(tree: SearchTree, end: number, measure: Measure = {}): DatasetLine {
	const steps = tree.partsOf(end).map((id) => tree.node(id)?.text ?? '');
	return {
		prompt: problemOf(tree).prompt,
		steps: steps.filter((step) => step !== ''),
		solution: steps.join(''),
		reward: nodeValue(tree, end, measure),
	};
}
