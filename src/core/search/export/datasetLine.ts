import type { SearchTree } from '../searchTree.ts';
import { type Measure, nodeValue, problemOf } from './treeFacts.ts';

/** A line of the uniform data set of searches. */
export interface DatasetLine {
	readonly prompt: string;
	/** The solution as the search cut it: put together they are the solution. */
	readonly steps: readonly string[];
	readonly solution: string;
	/** null: nothing valued it. */
	readonly reward: number | null;
}

/** The completion that ends in a node. */
export function datasetLine(tree: SearchTree, end: number, measure: Measure = {}): DatasetLine {
	const steps = tree.partsOf(end).map((id) => tree.node(id)?.text ?? '');
	return {
		prompt: problemOf(tree).prompt,
		steps: steps.filter((step) => step !== ''),
		solution: steps.join(''),
		reward: nodeValue(tree, end, measure),
	};
}
