/** Ending of reward files. */
export const rewardFileEnding = /\.reward\.(ts|js|mjs|py)$/;

/** Returns whether a path is that of a reward file. */
export const isRewardFileName = (path: string): boolean => rewardFileEnding.test(path);
