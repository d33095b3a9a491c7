/** Stage curves to show in a report, in order. */
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

/** Maximum number of curves per stage. */
export const maxCurves = 16;
/** Maximum number of rewards per run that get their own curve. */
const maxRewards = 6;

const ofReward = (name: string) => /^rewards\/.+\/mean$/s.test(name);

/** Returns whether a metric can be shown and must therefore be kept while reading a run. */
export function isMainMetric(name: string): boolean {
	return order.has(name) || ofReward(name);
}

/** Selects the stage metrics to show, in order. */
export function mainMetrics(names: readonly string[]): string[] {
	const fixed = names.filter((name) => order.has(name)).sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
	const rewards = names.filter(ofReward).slice(0, maxRewards);
	// A single reward has the same curve as the total.
	const parts = rewards.length > 1 ? rewards : [];
	const [first, ...rest] = fixed;
	const all = first === 'reward' ? [first, ...parts, ...rest] : [...fixed, ...parts];
	return all.slice(0, maxCurves);
}
