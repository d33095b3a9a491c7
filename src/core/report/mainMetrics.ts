/** Curves of a stage that a report shows, the first ones first. */
const chosen = [
	'reward',
	'eval/accuracy',
	'groups/dead',
	'frac_reward_zero_std',
	'completions/mean_length',
	'completions/clipped_ratio',
	'entropy',
	'kl',
	'loss',
	'mean_token_accuracy',
	'accuracy',
	'margin',
	'rewards/margins',
	'rewards/accuracies',
	'policy_loss',
	'value_loss',
	'head/brier',
	'eval/head/auc',
	'eval/head/calibration_error',
	'clip_ratio/region_mean',
	'grad_norm',
	'learning_rate',
] as const;
const order = new Map<string, number>(chosen.map((name, i) => [name, i]));

/** Curves of one stage. */
export const mostCurves = 16;
/** Rewards of a run that have a curve of their own. */
const mostRewards = 6;

const ofReward = (name: string) => /^rewards\/.+\/mean$/s.test(name);

/** Whether a metric may be shown: what is worth keeping while a run is read. */
export function isMainMetric(name: string): boolean {
	return order.has(name) || ofReward(name);
}

/** Of the names that a stage has those that are shown, in order. */
export function mainMetrics(names: readonly string[]): string[] {
	const fixed = names.filter((name) => order.has(name)).sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
	const rewards = names.filter(ofReward).slice(0, mostRewards);
	// With one reward its curve is that of the whole.
	const parts = rewards.length > 1 ? rewards : [];
	const [first, ...rest] = fixed;
	const all = first === 'reward' ? [first, ...parts, ...rest] : [...fixed, ...parts];
	return all.slice(0, mostCurves);
}
