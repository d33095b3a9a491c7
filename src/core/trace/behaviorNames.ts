/**
 * The four behaviors that mark models which improve by reinforcement learning (Gandhi et al. 2025, "Cognitive behaviors
 * that enable self-improving reasoners"), and the words of pausing that R1-Zero's "aha moment" made known (Guo et al. 2025).
 */
export const behaviours = [
	'verification',
	'backtracking',
	'subgoal-setting',
	'backward-chaining',
	'reflection',
] as const;

export type Behavior = (typeof behaviours)[number];
