/**
 * The reward from the environment in which the completion was an episode. Only the process that ran the episode knows
 * it, so it is null anywhere else, for example when a recorded rollout is scored again.
 */
export function environmentReward(): null {
	return null;
}
