/*
 * Maximum values of the parameters that multiply a search's work. They are far above what papers use; their purpose is that a
 * single request cannot demand more than a process can hold.
 */

/** Completions sampled from one place. */
export const maxSamples = 100_000;
/** Beams, subtrees, next steps or rollouts of one node. */
export const maxWidth = 1024;
/** Steps from the problem to an answer. */
export const maxDepth = 10_000;
export const maxSimulations = 1_000_000;
/** Tokens of thinking of one completion. */
export const maxThinking = 1_000_000;
