import { masked } from './keyValueCache.ts';

/** [tokens, tokens], added to scores: a token (row) sees itself and what is before it. */
export function causalMask(tokens: number): Float32Array {
	const mask = new Float32Array(tokens * tokens);
	for (let t = 0; t < tokens; t++) mask.fill(masked, t * tokens + t + 1, (t + 1) * tokens);
	return mask;
}
