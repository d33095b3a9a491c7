import type { RolloutLine } from '../../protocol/rolloutLine.ts';

/** The reward that judges the answer: `accuracy`, or the first one that is named for it. */
const judging = /(?<!in)accura|(?<!in)correct|(?<!un)solved|(?<![a-z])acc(?![a-z])/i;
/** Whether the form is right says nothing of the answer. */
const form = /format|\btags?\b|_tags?\b|xml|structure|template/i;

/** Name of the reward that says whether an answer is right; null: no reward does. */
export function judgingReward(rewards: RolloutLine['rewards']): string | null {
	if (Object.hasOwn(rewards, 'accuracy')) return 'accuracy';
	return Object.keys(rewards).find((name) => judging.test(name) && !form.test(name)) ?? null;
}

/** Whether the rollout's answer was judged right (value above one half); null when no reward judges that. */
export function correctness(rewards: RolloutLine['rewards']): boolean | null {
	const name = judgingReward(rewards);
	const value = name === null ? null : (rewards[name] ?? null);
	return value === null ? null : value > 0.5;
}
