/**
 * The reward of the environment in which the completion was an episode. Only the process that played the episode knows
 * it, so it is null anywhere else, for example when a recorded rollout is scored again.
 */
export function environmentReward(): null {
	return null;
}
