/**
 * Minimum and maximum number of runs in a comparison. Defined separately from the comparison messages, whose schemas
 * are loaded only when a comparison is opened.
 */
export const comparedRuns = { min: 2, max: 8 } as const;
