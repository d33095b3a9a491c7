/** Ending of reward files. */
export const rewardFileEnding = /\.reward\.(ts|js|mjs|py)$/;

/** Returns whether a path names a reward file. */
export const isRewardFileName = (path: string): boolean => rewardFileEnding.test(path);
