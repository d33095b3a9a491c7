import type { MetricContext, StageType } from './metricInfo.ts';

/** Stages whose loss has the same meaning for all settings. */
const lossOfStage: Partial<Record<StageType, string>> = {
	pretrain:
		'Negative log-likelihood per token, over all of the text. Lower means that the model predicts the next token better.',
	sft: 'Negative log-likelihood per token of the worked solutions. Lower means better imitation.',
	distill:
		"Per token: negative log-likelihood of the teacher's completions or, with a live teacher, the divergence from its distribution. Lower means better imitation.",
	dpo: 'Negative log-likelihood that the chosen completion beats the rejected one, based on the margin between their implicit rewards: 0.693 (log 2) before training, lower when pairs are separated. Other DPO loss types use a different scale.',
	'reward-model':
		'Negative log-likelihood that the chosen completion beats the rejected one, based on the difference between their scores (Bradley-Terry): 0.693 (log 2) if the model cannot separate them.',
	'value-model':
		'Binary cross-entropy between values and labels, per completion. Lower means a better head. Uncertain labels keep it above 0.',
	'process-reward-model':
		'Cross-entropy between predicted and actual step labels. Lower means better judgments. Uncertain labels keep it above 0.',
	ppo: 'The clipped surrogate plus vf_coef times the value loss. Its value does not measure progress; reward does. During critic warm-up, it is the value loss alone.',
	rloo: 'The surrogate objective. Its value does not measure progress; reward does. Advantages are leave-one-out and sum to 0 within each group, so on the first update of each batch the loss is 0, as expected.',
};

/**
 * Explains the value of the GRPO loss: it does not measure progress, and its initial value depends on the
 * normalization.
 */
export function lossMeaning({ stage, lossType, beta, updatesPerBatch }: MetricContext): string {
	const ofStage = stage && lossOfStage[stage];
	if (ofStage) return ofStage;
	const nature = 'The surrogate objective. Its value does not measure progress; reward does.';
	const first = updatesPerBatch === 1 ? 'With one update per batch' : 'On the first update of each batch';
	const kl = beta === 0 ? '' : ' The KL term, beta times kl, is added.';
	const zero =
		`${first}, every ratio is exactly 1 and the advantages of a group sum to 0, so averaging per completion gives 0: ` +
		'a loss of 0 is expected, and its gradient is not 0.';
	const weighted =
		`${first}, every ratio is exactly 1, so the loss is minus the mean advantage weighted by completion length: above 0 while ` +
		'longer completions get less reward than shorter ones, below 0 while they get more, and 0 if all have the same length.';
	switch (lossType) {
		case 'grpo':
		case 'gmpo':
			return `${nature} ${zero}${kl}`;
		case 'bnpo':
		case 'dapo':
		case 'dr_grpo':
			return `${nature} ${weighted}${kl}`;
		case 'sapo':
			return `${nature} A soft gate replaces clipping; its value is 2 at ratio 1. ${zero}${kl}`;
		case 'luspo':
			return `${nature} Sequences are weighted by length. ${weighted}${kl}`;
		case 'cispo':
		case 'vespo':
		case 'dppo_tv':
		case 'dppo_kl':
			return `${nature} It weights log-probabilities directly, so it is far from 0 and changes with completion length and entropy.${kl}`;
		default:
			return `${nature} With loss_type grpo, it starts each batch at 0; with bnpo, dapo, and dr_grpo, it starts at minus the length-weighted mean advantage.`;
	}
}

/** Describes what advantages are divided by. */
export function deviationMeaning({ advantages }: MetricContext): string {
	switch (advantages) {
		case 'maxrl':
			return 'Advantages are differences from the group mean, divided by the group mean (MaxRL).';
		case 'pass_at_k':
			return 'Advantages compare the best of pass_k completions over all sets of that size in the group, and are divided by the SD over these sets.';
		case 'gdpo':
			return 'Each reward is divided by its own sample standard deviation (n - 1) within the group plus 1e-4; their sum is divided by that of the entire batch (GDPO).';
		case 'none':
			return 'Advantages are differences from the group mean, without dividing by the SD.';
		case 'batch':
			return 'Advantages are divided by the sample standard deviation (n - 1) of the entire batch plus 1e-4.';
		default:
			return 'Advantages are divided by the sample standard deviation (n - 1) of their group plus 1e-4.';
	}
}
