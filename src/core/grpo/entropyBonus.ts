/** State of a stage's entropy bonus. */
export interface EntropyBonus {
	readonly coefficient: number;
	/** Mean entropy per token in the last update, in nats; null before the first one. */
	readonly entropy: number | null;
}

export interface AdaptiveEntropy {
	/** Entropy at or below which the bonus applies, in nats. */
	readonly target: number;
	readonly delta: number;
	readonly lowest: number;
	readonly highest: number;
}

/** TRL's defaults (GRPOConfig, 1.13). */
export const adaptiveDefaults: AdaptiveEntropy = { target: 0.2, delta: 0.005, lowest: 0, highest: 1 };

/** Returns the weight of the bonus in the next update. `adaptive`: null if the weight is fixed. */
export function bonusWeight({ coefficient, entropy }: EntropyBonus, adaptive: AdaptiveEntropy | null): number {
	if (adaptive === null) return coefficient;
	return entropy !== null && entropy <= adaptive.target ? coefficient : 0;
}

/**
 * Returns the state after an update with the given entropy: the coefficient rises by `delta` while the entropy is at or
 * below the target, and falls otherwise. He et al. 2025 (Skywork-OR1, arXiv:2505.22312); TRL's `use_adaptive_entropy`.
 */
export function afterUpdate(
	{ coefficient }: EntropyBonus,
	entropy: number,
	{ target, delta, lowest, highest }: AdaptiveEntropy,
): EntropyBonus {
	const next = entropy <= target ? Math.min(coefficient + delta, highest) : Math.max(coefficient - delta, lowest);
	return { coefficient: next, entropy };
}
