import * as v from 'valibot';
import { finalsOf, votedFinal } from '../../core/search/choice.ts';
import type { Scorer } from '../../core/search/scorer.ts';
import type { Strategy } from '../../core/search/strategy.ts';

const params = v.strictObject({ n: v.number() });

/**
 * Independent samples: full completions for the problem, scored by each scorer that a shared point uses for selection,
 * or by the search's judge. The result is the majority answer, so that the tree has an answer to show when opened.
 */
export function samplingStrategy(scorers: readonly Scorer[] | 'judge'): Strategy<v.InferOutput<typeof params>> {
	return {
		name: 'self-consistency',
		title: 'Independent samples',
		description: 'Samples full completions independently.',
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
