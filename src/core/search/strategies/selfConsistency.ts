import * as v from 'valibot';
import { count, real } from '../../../protocol/recipeKeys/recipeFields.ts';
import { finalsOf, votedFinal } from '../choice.ts';
import type { Strategy } from '../strategy.ts';
import { maxSamples } from './limits.ts';
import { sampleCompletions } from './sampleCompletions.ts';

const params = v.strictObject({
	n: v.optional(count('Number of completions to sample', 1, maxSamples), 16),
	temperature: v.optional(real('Sampling temperature. Default: the search temperature', 0, 10)),
});

/** Self-consistency (Wang et al. 2023): samples n completions and returns the most frequent answer. */
export const selfConsistency: Strategy<v.InferOutput<typeof params>> = {
	name: 'self-consistency',
	title: 'Self-consistency',
	description: 'Samples whole completions and returns the most frequent answer.',
	source: 'Wang et al. 2023',
	structure: 'tree',
	params,
	needs: {},
	async run(search, { n, temperature }) {
		await sampleCompletions(search, n, temperature);
		return { stop: 'complete' };
	},
	conclude: (search) => votedFinal(search, finalsOf(search), false),
};
