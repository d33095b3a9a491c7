import type { RewardEntry } from '../../protocol/recipeKeys/builtInRewards.ts';
import { findBehaviors } from '../trace/behaviors.ts';
import type { TraceTags } from '../trace/trace.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

type Options = Pick<RewardEntry<'reflection'>, 'behaviours' | 'mode' | 'cap' | 'perPhrase'>;

/**
 * Measures reasoning behaviors in the thinking section (Gandhi et al. 2025) as the number of matches up to a cap,
 * divided by the cap. Counts phrases rather than actual behavior, so keep the weight small: without the cap and the
 * per-phrase limit, "wait, wait, wait" would score best. Ignores text outside the thinking section, and returns 0 if
 * there is no such section.
 */
export function reflectionReward(sample: RewardSample, options: Options, tags: TraceTags): number {
	const thinking = thinkingOf(sample, tags);
	if (thinking === null) return 0;
	const times = new Map<string, number>();
	let marks = 0;
	for (const { behavior, start, end } of findBehaviors(thinking, null, 'english')) {
		if (options.behaviours !== undefined && !options.behaviours.includes(behavior)) continue;
		const phrase = thinking.slice(start, end).toLowerCase();
		const before = times.get(phrase) ?? 0;
		times.set(phrase, before + 1);
		if (before < options.perPhrase) marks++;
	}
	// Treat thinking shorter than 1000 characters as 1000 characters long. Otherwise, a single word would give a high
	// density.
	const amount = options.mode === 'count' ? marks : marks / Math.max(1, thinking.length / 1000);
	return Math.min(options.cap, amount) / options.cap;
}
