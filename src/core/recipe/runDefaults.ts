/** Sizes of a run that a recipe does not say; defaults of its keys are declared with them (src/protocol/recipeKey.ts). */
export const runDefaults = {
	sampleRows: 64,
	trainRows: 16,
	fewestRows: 4,
	/** Workers that the smallest batch is cut for; more of them share what larger batches have. */
	sharers: 4,
} as const;
