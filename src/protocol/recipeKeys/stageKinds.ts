/** Returns whether a stage learns from existing text. The text must fit in a new model's context. */
export function learnsFromTexts(stage: string): boolean {
	return ['pretrain', 'sft', 'distill', 'dpo', 'reward-model'].includes(stage);
}

/** Stage types in which the policy learns from rewards for its own completions. */
export const reinforcedTypes = ['grpo', 'ppo', 'rloo'] as const;

export function learnsFromRewards(stage: string | null): boolean {
	return reinforcedTypes.some((type) => type === stage);
}
