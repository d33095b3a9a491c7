import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import type { TraceTags } from '../trace/trace.ts';
import { wordsOf } from '../trace/wordPlaces.ts';
import { type RewardSample, thinkingOf, writtenText } from './rewardSample.ts';

type Options = Pick<RewardEntry<'repetition'>, 'ngram' | 'maxPenalty' | 'unit' | 'of'>;

/**
 * Returns maxPenalty x (1 - distinct n-grams / n-grams): 0 without repetition, close to maxPenalty for an endless loop
 * (Yeo et al. 2025; open-r1's `get_repetition_penalty_reward`). Case-insensitive. 0 for text with fewer than n words.
 */
export function repetitionReward(sample: RewardSample, options: Options, tags: TraceTags): number {
	const text = options.of === 'thinking' ? thinkingOf(sample, tags) : writtenText(sample);
	const lower = (text ?? '').toLowerCase();
	const words = options.unit === 'words' ? wordsOf(lower) : [...lower];
	const total = words.length - options.ngram + 1;
	if (total <= 0) return 0;
	const distinct = new Set<string>();
	for (let i = 0; i < total; i++) distinct.add(words.slice(i, i + options.ngram).join(' '));
	const repeated = 1 - distinct.size / total;
	return repeated === 0 ? 0 : options.maxPenalty * repeated;
}
