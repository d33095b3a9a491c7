import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** Matches the name of the correctness reward, such as `accuracy`. */
const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|(?<![a-z])acc(?![a-z])/i;
/** Matches format rewards, which do not depend on whether the answer is correct. */
const form = /format|\btags?\b|_tags?\b|xml|structure|template/i;

/** Returns the name of the correctness reward, or null if there is none. */
export function judgingReward(rewards: RolloutLine['rewards']): string | null {
	if (Object.hasOwn(rewards, 'accuracy')) return 'accuracy';
	return Object.keys(rewards).find((name) => judging.test(name) && !form.test(name)) ?? null;
}

/** Returns whether a rollout's answer was judged correct (value above 0.5), or null if no reward judges correctness. */
export function correctness(rewards: RolloutLine['rewards']): boolean | null {
	const name = judgingReward(rewards);
	const value = name === null ? null : (rewards[name] ?? null);
	return value === null ? null : value > 0.5;
}
