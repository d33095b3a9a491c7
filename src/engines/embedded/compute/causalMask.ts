import { masked } from './keyValueCache.ts';

/** [tokens, tokens], added to scores: each token (row) attends to itself and the tokens before it. */
export function causalMask(tokens: number): Float32Array {
	const mask = new Float32Array(tokens * tokens);
	for (let t = 0; t < tokens; t++) mask.fill(masked, t * tokens + t + 1, (t + 1) * tokens);
	return mask;
}
