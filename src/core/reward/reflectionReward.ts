import type { RewardEntry } from '../../protocol/builtInRewards.ts';
import { findBehaviours } from '../trace/behaviours.ts';
import type { TraceTags } from '../trace/trace.ts';
import { type RewardSample, thinkingOf } from './rewardSample.ts';

type Options = Pick<RewardEntry<'reflection'>, 'behaviours' | 'mode' | 'cap' | 'perPhrase'>;

/**
 * How much the thinking shows of the behaviors that go with reasoning (Gandhi et al. 2025): marks up to a cap, as a share of
 * it. Words are counted, not deeds, so keep its weight small: without the cap, and the limit on each phrase, "wait, wait,
 * wait" would be the best thinking of all. Nothing outside the thinking counts; 0 without thinking.
 */
export function reflectionReward(sample: RewardSample, options: Options, tags: TraceTags): number {
	const thinking = thinkingOf(sample, tags);
	if (thinking === null) return 0;
	const times = new Map<string, number>();
	let marks = 0;
	for (const { behaviour, start, end } of findBehaviours(thinking, null, 'english')) {
		if (options.behaviours !== undefined && !options.behaviours.includes(behaviour)) continue;
		const phrase = thinking.slice(start, end).toLowerCase();
		const before = times.get(phrase) ?? 0;
		times.set(phrase, before + 1);
		if (before < options.perPhrase) marks++;
	}
	// A density over less than a thousand characters would make a single word enough.
	const amount = options.mode === 'count' ? marks : marks / Math.max(1, thinking.length / 1000);
	return Math.min(options.cap, amount) / options.cap;
}
