/** Rollouts that were trained on, and those of evaluations during training. */
export const rolloutSplits = ['train', 'validation'] as const;
export type RolloutSplit = (typeof rolloutSplits)[number];
