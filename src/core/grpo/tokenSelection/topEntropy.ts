/**
 * Returns the lowest entropy among the given fraction of tokens with the highest entropies: the quantile at 1 - share
 * with linear interpolation, as in torch.quantile. Only tokens at or above it are trained on. Wang et al. 2025, "Beyond
 * the 80/20 Rule" (arXiv:2506.01939); TRL's `get_high_entropy_mask`.
 * @param entropies of all tokens in an update, in nats; not empty
 */
export function entropyThreshold(entropies: Float64Array, share: number): number {
	const sorted = entropies.toSorted();
	const place = (1 - share) * (sorted.length - 1);
	const below = Math.floor(place);
	const [low, high] = [sorted[below] as number, sorted[Math.ceil(place)] as number];
	return low + (place - below) * (high - low);
}
