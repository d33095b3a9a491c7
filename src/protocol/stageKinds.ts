/** Stages in which the policy learns from rewards of its own completions. */
export const reinforcedTypes = ['grpo', 'rloo'] as const;

export function learnsFromRewards(stage: string | null): boolean {
	return reinforcedTypes.some((type) => type === stage);
}
