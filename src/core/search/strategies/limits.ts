/*
 * Upper limits for parameters that multiply a search's work. They are far above the values used in papers and only keep
 * a single request from exhausting the process's resources.
 */

/** Maximum number of completions sampled from one node. */
export const maxSamples = 100_000;
/** Maximum number of beams, subtrees, next steps or rollouts per node. */
export const maxWidth = 1024;
/** Maximum number of steps from the problem to an answer. */
export const maxDepth = 10_000;
export const maxSimulations = 1_000_000;
/** Maximum number of thinking tokens per completion. */
export const maxThinking = 1_000_000;
