/** Inputs for sampling a batch: everything that a resumed run needs to sample it again. */
export interface BatchOrder {
	/** Weights, in parameter order. Not modified. */
	readonly weights: Float32Array;
	/** Number of updates that these weights have received. */
	readonly version: number;
	/** Step of the batch's first update. */
	readonly firstStep: number;
	readonly temperature: number;
}
