import { masked } from '../model/attention.ts';

/** Returns a mask [tokens, tokens] to add to the scores: each token (row) attends to itself and preceding tokens. */
export function causalMask(tokens: number): Float32Array {
	const mask = new Float32Array(tokens * tokens);
	for (let t = 0; t < tokens; t++) mask.fill(masked, t * tokens + t + 1, (t + 1) * tokens);
	return mask;
}
