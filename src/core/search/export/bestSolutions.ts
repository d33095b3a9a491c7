import type { SftExample } from '../../export/sft.ts';
import type { TextForm } from '../../export/textForms.ts';
import type { SearchTree } from '../searchTree.ts';
import { endsOf, type Measure, nodeValue, problemOf } from './treeFacts.ts';

export interface BestSolutionOptions extends Measure {
	/** Maximum number of solutions per search. Default: 1. */
	readonly most?: number;
	/**
	 * Minimum value; excludes solutions without a value. By default there is no minimum, and solutions without a value
	 * sort last.
	 */
	readonly least?: number;
}

/**
 * Returns the final nodes of the best completions, best first. Among ties and duplicate completions, the earliest node
 * is used.
 */
export function bestSolutions(
	tree: SearchTree,
	{ most: max = 1, least: min, ...measure }: BestSolutionOptions = {},
): number[] {
	const seen = new Set<string>();
	const valued = endsOf(tree).map(({ id }) => ({ id, value: nodeValue(tree, id, measure) }));
	return valued
		.filter(({ value }) => min === undefined || (value !== null && value >= min))
		.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.id - b.id || 0)
		.filter(({ id }) => {
			const text = tree.textOf(id).trim();
			if (text === '' || seen.has(text)) return false;
			seen.add(text);
			return true;
		})
		.slice(0, max)
		.map(({ id }) => id);
}

/** Converts a completion into an example for supervised fine-tuning (TRL's prompt-completion type). */
export function solutionExample(tree: SearchTree, completion: string, form: TextForm): SftExample {
	const { prompt } = problemOf(tree);
	if (form === 'standard') return { prompt, completion };
	return {
		prompt: [{ role: 'user', content: prompt }],
		completion: [{ role: 'assistant', content: completion }],
	};
}
