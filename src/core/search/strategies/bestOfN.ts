import * as v from 'valibot';
import { count, flag, real } from '../../../protocol/recipeKeys/recipeFields.ts';
import { bestFinal, chooser, judgeFinals, votedFinal } from '../choice.ts';
import type { Strategy } from '../strategy.ts';
import { maxSamples } from './limits.ts';
import { sampleCompletions } from './sampleCompletions.ts';

const params = v.strictObject({
	n: v.optional(count('Number of completions to sample', 1, maxSamples), 16),
	weighted: v.optional(
		flag('Select the answer with the highest sum of rewards over its completions instead of the best completion'),
		false,
	),
	temperature: v.optional(real('Sampling temperature. Default: the search temperature', 0, 10)),
});

/**
 * Best-of-N (Cobbe et al. 2021): samples n completions and keeps the one with the highest verifier score. Scores can be
 * summed by answer instead.
 */
export const bestOfN: Strategy<v.InferOutput<typeof params>> = {
	name: 'best-of-n',
	title: 'Best of N',
	description: 'Samples whole completions and keeps the highest-scoring one.',
	source: 'Cobbe et al. 2021; Li et al. 2023 (weighted)',
	structure: 'tree',
	params,
	needs: {},
	// A single completion does not need a scorer.
	needsWith: ({ n }) => (n > 1 ? { scorer: 'final' } : {}),
	async run(search, { n, temperature }) {
		await sampleCompletions(search, n, temperature);
		return { stop: 'complete' };
	},
	async conclude(search, { weighted }) {
		const finals = await judgeFinals(search);
		return weighted && chooser(search) !== null ? votedFinal(search, finals, true) : bestFinal(search, finals);
	},
};
