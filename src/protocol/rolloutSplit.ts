/** Rollouts used for training, and those from evaluations during training. */
export const rolloutSplits = ['train', 'validation'] as const;
export type RolloutSplit = (typeof rolloutSplits)[number];
