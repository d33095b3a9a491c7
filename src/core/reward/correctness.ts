import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** The correctness reward: `accuracy`, or the first one with such a name. */
const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|(?<![a-z])acc(?![a-z])/i;
/** Whether the format is correct is independent of the answer. */
const form = /format|\btags?\b|_tags?\b|xml|structure|template/i;

/** Name of the correctness reward; null if there is none. */
export function judgingReward(rewards: RolloutLine['rewards']): string | null {
	if (Object.hasOwn(rewards, 'accuracy')) return 'accuracy';
	return Object.keys(rewards).find((name) => judging.test(name) && !form.test(name)) ?? null;
}

/** Whether the answer of a rollout was judged correct (value above 0.5); null if no reward judges that. */
export function correctness(rewards: RolloutLine['rewards']): boolean | null {
	const name = judgingReward(rewards);
	const value = name === null ? null : (rewards[name] ?? null);
	return value === null ? null : value > 0.5;
}
