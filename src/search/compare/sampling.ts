import * as v from 'valibot';
import { finalsOf, votedFinal } from '../../core/search/choice.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { Strategy } from '../../core/search/strategy.ts';

const params = v.strictObject({ n: v.number() });

/**
 * Single samples: whole completions from the problem, valued by each scorer that a shared point chooses by, or by the judge
 * of the search. Its result is their majority, so that who opens the tree sees one.
 */
export function samplingStrategy(scorers: readonly Scorer[] | 'judge'): Strategy<v.InferOutput<typeof params>> {
	return {
		name: 'self-consistency',
		title: 'Single samples',
		description: 'Samples whole completions.',
		source: '',
		structure: 'tree',
		params,
		needs: {},
		async run(search, { n }) {
			await search.generate(search.root, { n, unit: 'completion' });
			const finals = finalsOf(search).map(({ id }) => id);
			const chosen = scorers !== 'judge' ? scorers : search.judge === null ? [] : [search.judge];
			for (const scorer of chosen) if (finals.length > 0) await search.evaluate(finals, scorer);
			return { stop: 'complete' };
		},
		conclude: (search) => votedFinal(search, finalsOf(search), false),
	};
}
