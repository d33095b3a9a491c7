/**
 * Run sizes that recipes do not specify. Defaults for recipe keys are declared with the keys
 * (src/protocol/recipeKeys/recipeKey.ts).
 */
export const runDefaults = {
	sampleRows: 64,
	trainRows: 16,
	fewestRows: 4,
	/** Number of workers that the smallest batch is split across. Additional workers share the load of larger batches. */
	sharers: 4,
} as const;
