/** Curves of a stage shown in a report, in order. */
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

/** Max curves per stage. */
export const mostCurves = 16;
/** Max rewards of a run with their own curve. */
const mostRewards = 6;

const ofReward = (name: string) => /^rewards\/.+\/mean$/s.test(name);

/** Whether a metric may be shown, and must be kept while a run is read. */
export function isMainMetric(name: string): boolean {
	return order.has(name) || ofReward(name);
}

/** Selects the metrics of a stage to show, in order. */
export function mainMetrics(names: readonly string[]): string[] {
	const fixed = names.filter((name) => order.has(name)).sort((a, b) => (order.get(a) ?? 0) - (order.get(b) ?? 0));
	const rewards = names.filter(ofReward).slice(0, mostRewards);
	// With a single reward, its curve equals the total.
	const parts = rewards.length > 1 ? rewards : [];
	const [first, ...rest] = fixed;
	const all = first === 'reward' ? [first, ...parts, ...rest] : [...fixed, ...parts];
	return all.slice(0, mostCurves);
}
