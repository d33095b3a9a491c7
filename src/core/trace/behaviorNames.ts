/**
 * Four behaviors found in models that improve through reinforcement learning (Gandhi et al. 2025, "Cognitive behaviors
 * that enable self-improving reasoners"), and hesitation words known from R1-Zero's "aha moment" (Guo et al. 2025).
 */
export const behaviors = [
	'verification',
	'backtracking',
	'subgoal-setting',
	'backward-chaining',
	'reflection',
] as const;

export type Behavior = (typeof behaviors)[number];
