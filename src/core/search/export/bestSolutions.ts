import type { SftExample } from '../../export/sft.ts';
import type { TextForm } from '../../export/textForms.ts';
import type { SearchTree } from '../searchTree.ts';
import { endsOf, type Measure, nodeValue, problemOf } from './treeFacts.ts';

export interface BestSolutionOptions extends Measure {
	/** Solutions of one search at most. Default 1. */
	readonly most?: number;
	/** Of at least this value; those without a value are left out. Absent: any, those without a value last. */
	readonly least?: number;
}

/** The ends of the best completions, best first; of equal texts and of equal values the first one made. */
export function bestSolutions(tree: SearchTree, { most = 1, least, ...measure }: BestSolutionOptions = {}): number[] {
	const seen = new Set<string>();
	const valued = endsOf(tree).map(({ id }) => ({ id, value: nodeValue(tree, id, measure) }));
	return valued
		.filter(({ value }) => least === undefined || (value !== null && value >= least))
		.sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity) || a.id - b.id || 0)
		.filter(({ id }) => {
			const text = tree.textOf(id).trim();
			if (text === '' || seen.has(text)) return false;
			seen.add(text);
			return true;
		})
		.slice(0, most)
		.map(({ id }) => id);
}

/** A completion of the search's problem as an example of supervised fine-tuning (TRL's prompt-completion type). */
export function solutionExample(tree: SearchTree, completion: string, form: TextForm): SftExample {
	const { prompt } = problemOf(tree);
	if (form === 'standard') return { prompt, completion };
	return {
		prompt: [{ role: 'user', content: prompt }],
		completion: [{ role: 'assistant', content: completion }],
	};
}
