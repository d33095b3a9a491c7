/** Suffix of reward file names. */
export const rewardFileEnding = /\.reward\.(ts|js|mjs|py)$/;

/** Returns whether a path refers to a reward file. */
export const isRewardFileName = (path: string): boolean => rewardFileEnding.test(path);
