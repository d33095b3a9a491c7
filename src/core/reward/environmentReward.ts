/**
 * The reward from the environment that the completion's episode ran in. It is known only to the process that ran the
 * episode, so it is null everywhere else, for example when a recorded rollout is rescored.
 */
export function environmentReward(): null {
	return null;
}
