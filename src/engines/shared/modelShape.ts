/** Dimensions of a decoder-only transformer. */
export interface ModelShape {
	readonly vocabulary: number;
	/** Maximum length of prompt + completion, in tokens. */
	readonly context: number;
	readonly width: number;
	readonly heads: number;
	readonly layers: number;
	readonly feedForward: number;
}
