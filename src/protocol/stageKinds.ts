/** Stages that learn from given texts, which a new model must have room for. */
export function learnsFromTexts(stage: string): boolean {
	return ['pretrain', 'sft', 'distill', 'dpo', 'reward-model'].includes(stage);
}

/** Stages in which the policy learns from rewards of its own completions. */
export const reinforcedTypes = ['grpo', 'ppo', 'rloo'] as const;

export function learnsFromRewards(stage: string | null): boolean {
	return reinforcedTypes.some((type) => type === stage);
}
