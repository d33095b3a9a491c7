import type { MetricContext } from './metricInfo.ts';

/** Why the loss of GRPO is what it is: it is no measure of progress, and where it starts depends on its normalisation. */
export function lossMeaning({ stage, lossType, beta, updatesPerBatch }: MetricContext): string {
	if (stage === 'sft')
		return 'Negative log-likelihood of the worked solutions, per token: lower means better imitation.';
	if (stage === 'value-model' || stage === 'process-reward-model')
		return 'Binary cross-entropy of values and labels, per completion: lower means a better head. Labels that are uncertain hold it above 0.';
	const nature = 'The surrogate whose gradient is followed; its value does not measure progress, the reward does.';
	const first = updatesPerBatch === 1 ? 'With one update per batch' : 'At the first update of each batch';
	const kl = beta === 0 ? '' : ' The KL term, beta times kl, comes on top.';
	const zero =
		`${first} every ratio is exactly 1 and a group's advantages sum to 0, so averaging per completion gives 0: ` +
		'a loss of 0 is no fault, its gradient is not 0.';
	const weighted =
		`${first} every ratio is exactly 1, so it is minus the mean advantage weighted by completion length: above 0 while ` +
		'longer completions earn less than shorter ones, below 0 while they earn more, and 0 when all are equally long.';
	switch (lossType) {
		case 'grpo':
			return `${nature} ${zero}${kl}`;
		case 'bnpo':
		case 'dapo':
		case 'dr_grpo':
			return `${nature} ${weighted}${kl}`;
		default:
			return `${nature} With loss_type grpo it starts each batch at 0; with bnpo, dapo and dr_grpo at minus the length-weighted mean advantage.`;
	}
}

/** Which deviation divides the advantages, as it is computed. */
export function deviationMeaning({ scaleRewards }: MetricContext): string {
	switch (scaleRewards) {
		case 'none':
			return 'Advantages are the distance to the mean of the group; nothing divides them.';
		case 'batch':
			return 'Advantages are divided by the sample standard deviation (n - 1) of the whole batch plus 1e-4.';
		default:
			return 'Advantages are divided by the sample standard deviation (n - 1) of their own group plus 1e-4.';
	}
}
